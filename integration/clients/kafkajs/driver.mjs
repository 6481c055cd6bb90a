// A driver of kafkajs.

import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { administer } from './admin.mjs'
import { consume } from './consumer.mjs'
import { chain, record, run } from './lines.mjs'

const { CompressionTypes, Kafka, Partitioners, logLevel } = kafkajs
const { version } = createRequire(import.meta.url)('kafkajs/package.json')

const COMPRESSIONS = {
  none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD
}
const AT_ONCE = 5000 // records in one call

function connection (config) {
  return new Kafka({
    brokers: [config.bootstrap],
    clientId: config.client_id,
    logLevel: logLevel.WARN,
    logCreator: () => ({ namespace, log }) => {
      const { timestamp, logger, message, ...more } = log
      process.stderr.write(`${timestamp} ${namespace} ${message} ${JSON.stringify(more)}\n`)
    }
  })
}

/** Kafka's number of an error, or null. */
function codeOf (error) {
  for (const each of chain(error)) {
    const code = each.code ?? each.groups?.[0]?.errorCode ?? each.partitions?.[0]?.error?.code
    if (Number.isInteger(code)) {
      return code
    }
  }
  return null
}

async function produce (config) {
  if (!(config.compression in COMPRESSIONS)) {
    throw new Error(`there is no compression ${JSON.stringify(config.compression)}`)
  }
  const producer = connection(config).producer({
    createPartitioner: Partitioners.DefaultPartitioner, idempotent: config.idempotence ?? false
  })
  await producer.connect()
  for (let start = 0; start < config.count; start += AT_ONCE) {
    const messages = []
    for (let i = start; i < Math.min(config.count, start + AT_ONCE); i++) {
      messages.push(record(config, i))
    }
    await producer.send({
      topic: config.topic, acks: config.acks, compression: COMPRESSIONS[config.compression], messages
    })
  }
  await producer.disconnect()
}

run('kafkajs', version, {
  consumer: config => consume(connection(config), config, codeOf),
  producer: produce,
  admin: config => administer(connection(config), codeOf)
}, codeOf)
