// A driver of @platformatic/kafka.

import { readFileSync } from 'node:fs'
import { Producer, stringSerializers } from '@platformatic/kafka'
import { administer } from './admin.mjs'
import { consume } from './consumer.mjs'
import { chain, record, run } from './lines.mjs'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.resolve('@platformatic/kafka'))))
const AT_ONCE = 5000 // records in one call

function connection (config) {
  return { clientId: config.client_id, bootstrapBrokers: [config.bootstrap] }
}

/** Kafka's number of an error, or null. */
function codeOf (error) {
  for (const { apiCode } of chain(error)) {
    if (Number.isInteger(apiCode)) {
      return apiCode
    }
  }
  return null
}

async function produce (config) {
  const producer = new Producer({ ...connection(config), serializers: stringSerializers, strict: true })
  for (let start = 0; start < config.count; start += AT_ONCE) {
    const messages = []
    for (let i = start; i < Math.min(config.count, start + AT_ONCE); i++) {
      messages.push({ topic: config.topic, ...record(config, i) })
    }
    await producer.send({
      messages, acks: config.acks, compression: config.compression, idempotent: config.idempotence ?? false
    })
  }
  await producer.close()
}

run('platformatic', version, {
  consumer: config => consume(connection(config), config, codeOf),
  producer: produce,
  admin: config => administer(connection(config), codeOf)
}, codeOf)
