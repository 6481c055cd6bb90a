// Two kafkajs consumers share six partitions; one crashes, and its session of 45 s is over at once, by HTTP.
//
// node control_scenario.mjs BOOTSTRAP CONTROL, where kafkajs is found. As `member BOOTSTRAP NAME` it is one consumer.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import kafkajs from 'kafkajs'

const GROUP = 'from/node' // any characters do, if they are percent-encoded
const [first, ...rest] = process.argv.slice(2)

if (first === 'member') {
  await member(...rest)
} else {
  await scenario(first, ...rest)
}

async function member (bootstrap, name) {
  const kafka = new kafkajs.Kafka({ brokers: [bootstrap], clientId: name, logLevel: kafkajs.logLevel.NOTHING })
  const consumer = kafka.consumer({
    groupId: GROUP, sessionTimeout: 45_000, heartbeatInterval: 100, maxWaitTimeInMs: 100
  })
  await consumer.connect()
  await consumer.subscribe({ topics: ['orders'] })
  await consumer.run({ eachMessage: async () => {} })
}

async function scenario (bootstrap, url) {
  async function ask (method, path, body) {
    const response = await fetch(url + path, { method, body: body && JSON.stringify(body) })
    const told = response.status === 204 ? null : await response.json()
    if (!response.ok) {
      throw new Error(`${method} ${path}: ${response.status} ${told.error}\n${told.detail ?? ''}`)
    }
    return told
  }

  const group = `/groups/${encodeURIComponent(GROUP)}`
  const here = fileURLToPath(import.meta.url)
  const members = ['a', 'b'].map(name => spawn(process.execPath, [here, 'member', bootstrap, name], { stdio: 'inherit' }))
  try {
    const before = await ask('POST', `${group}/wait`, { synced: true, members: 2, timeout: 60 })
    members[0].kill('SIGKILL')
    await once(members[0], 'exit')
    const began = performance.now()
    await ask('POST', '/clock/advance', { seconds: 45 })
    const after = await ask('POST', `${group}/wait`, { synced: true, members: 1, timeout: 60 })
    const took = performance.now() - began
    const refused = await fetch(`${url}/clock/advance`, { method: 'POST', body: '{"seconds": -1}' })
    const findings = await ask('GET', `/timeline/${encodeURIComponent(GROUP)}/findings`)
    const story = await (await fetch(`${url}/timeline/${encodeURIComponent(GROUP)}?format=text`)).text()
    console.log(JSON.stringify({
      before, after, took, findings, story, refused: { status: refused.status, ...(await refused.json()) }
    }))
  } finally {
    members.forEach(each => each.kill('SIGKILL'))
  }
}
