// What the drivers for Node share: one JSON object in, JSON lines out, commands from standard input.
// Each driver's folder has a link to this file, since a driver is built and run in a copy of its folder.

import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const COMMON = { role: true, bootstrap: true, client_id: true }

// The keys of each role; those with a value other than `true` may be left out, and then have that value.
const ROLES = {
  consumer: {
    ...COMMON, group: true, topics: [], pattern: null, assignors: [], instance_id: null, session_timeout_ms: null,
    heartbeat_interval_ms: null, rebalance_timeout_ms: null, metadata_max_age_ms: null
  },
  producer: {
    ...COMMON, topic: true, count: true, partitions: true, prefix: true, acks: -1, idempotence: null, compression: 'none'
  },
  admin: COMMON
}

// Commands that a driver may lack; what is not among them is a mistake in the question.
const COMMANDS = new Set([
  'list_groups', 'describe_group', 'list_offsets', 'alter_offsets', 'delete_offsets', 'delete_group', 'remove_members',
  'create_topic', 'delete_topic', 'create_partitions', 'describe_topic', 'describe_configs', 'alter_configs',
  'describe_cluster', 'topic_offsets', 'delete_records'
])

/** What this process is to be; an error for a key that its role does not have, or lacks. */
export function configuration (argument) {
  const given = JSON.parse(argument)
  const keys = ROLES[given.role]
  if (keys === undefined) {
    throw new Error(`there is no role ${JSON.stringify(given.role)}`)
  }
  for (const key of Object.keys(given)) {
    if (!(key in keys)) {
      throw new Error(`a ${given.role} has no ${JSON.stringify(key)}`)
    }
  }
  for (const [key, value] of Object.entries(keys)) {
    if (value === true && !(key in given)) {
      throw new Error(`a ${given.role} needs ${JSON.stringify(key)}`)
    }
  }
  if (given.role === 'consumer' && (given.pattern == null) === !given.topics?.length) {
    throw new Error('a consumer has topics or a pattern, not both')
  }
  return { ...keys, ...given }
}

/** Write one event. */
export function tell (event, fields = {}) {
  let rest = Buffer.from(JSON.stringify({ event, ...fields }) + '\n')
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if (error.code !== 'EAGAIN') { // a full pipe: whoever reads it is slow
        throw error
      }
    }
  }
}

/** Write an event about partitions, given as pairs. */
export function tellPartitions (event, partitions) {
  tell(event, { partitions: partitions.toSorted(comparePartitions) })
}

/** Write an event about records [topic, partition, offset, value]; returns the positions behind them, to be committed. */
export function tellRecords (records) {
  tell('records', { records })
  const behind = new Map()
  for (const [topic, partition, offset] of records) {
    const before = behind.get(`${topic} ${partition}`)?.[2] ?? 0
    behind.set(`${topic} ${partition}`, [topic, partition, Math.max(before, offset + 1)])
  }
  return [...behind.values()].sort(comparePartitions)
}

/** Write an event about what went wrong in a consumer or producer. */
export function tellError (error, code, fatal = false) {
  tell('error', { message: error.message, code, fatal })
}

/** The i-th record of a producer. */
export function record (config, i) {
  return { partition: i % config.partitions, key: String(i), value: `${config.prefix}${i}` }
}

/** Topics and their partitions, as an object or by `topic` and `partitions`, as pairs. */
export function pairs (byTopic) {
  const entries = Array.isArray(byTopic)
    ? byTopic.map(({ topic, partitions }) => [topic, partitions])
    : Object.entries(byTopic)
  return entries.flatMap(([topic, partitions]) => partitions.map(partition => [topic, partition]))
}

/** Lists of [topic, ...rest], gathered by topic. */
export function byTopic (lists) {
  const found = new Map()
  for (const [topic, ...rest] of lists) {
    found.set(topic, [...(found.get(topic) ?? []), rest])
  }
  return [...found]
}

/** Kafka's range assignment of one topic's partitions to its subscribers: the first ones get one more. */
export function ranges (members, count) {
  const sorted = members.toSorted()
  const least = Math.floor(count / sorted.length)
  const more = count % sorted.length
  return sorted.map((member, i) => {
    const start = least * i + Math.min(i, more)
    return [member, Array.from({ length: least + (i < more ? 1 : 0) }, (_, n) => start + n)]
  })
}

/** Which things are those that an error is about: itself, what caused it, what it gathers. */
export function * chain (error) {
  yield error
  for (const inner of [error.cause, error.originalError, ...(error.errors ?? [])]) {
    if (inner instanceof Error) {
      yield * chain(inner)
    }
  }
}

/** The program: `roles` has a function for each role, `codeOf` gives Kafka's number of an error, or null. */
export async function run (client, version, roles, codeOf) {
  tell('ready', { client, version })
  try {
    if (process.argv.length !== 3) {
      throw new Error('one argument is expected, a JSON object')
    }
    const config = configuration(process.argv[2])
    await roles[config.role](config)
    if (config.role === 'producer') {
      tell('produced', { count: config.count })
    }
  } catch (error) {
    process.stderr.write(`${error.stack}\n`)
    tellError(error, codeOf(error), true)
    process.exit(1)
  }
  tell('closed')
  process.exit(0)
}

/** Resolves when a consumer is told to close, or when nobody is there any more who could. */
export async function closing () {
  for await (const line of lines()) {
    if (JSON.parse(line).do === 'close') {
      return
    }
    tellError(new Error(`a consumer can be told to close, not this: ${line}`), null)
  }
}

/** Carry out an operator's commands, each by the function of its name, until told to close. */
export async function serve (calls, codeOf) {
  for await (const line of lines()) {
    const { do: name, ...fields } = JSON.parse(line)
    if (name === 'close') {
      return
    }
    try {
      if (name in calls) {
        tell('result', { do: name, value: (await calls[name](fields)) ?? null })
      } else if (COMMANDS.has(name)) {
        tell('unsupported', { do: name })
      } else {
        throw new Error(`there is no command ${JSON.stringify(name)}`)
      }
    } catch (error) {
      process.stderr.write(`${error.stack}\n`)
      tell('error', { do: name, message: error.message, code: codeOf(error) })
    }
  }
}

function lines () {
  return createInterface({ input: process.stdin, crlfDelay: Infinity })
}

/** The order of lists that begin with topic and partition. */
export function comparePartitions (a, b) {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1]
}
