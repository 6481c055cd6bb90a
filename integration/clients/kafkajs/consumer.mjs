import kafkajs from 'kafkajs'
import { closing, pairs, ranges, tell, tellError, tellPartitions, tellRecords } from './lines.mjs'

const { AssignerProtocol: { MemberAssignment, MemberMetadata }, PartitionAssigners } = kafkajs

const ASSIGNORS = { RoundRobinAssigner: PartitionAssigners.roundRobin, range }

/** Kafka's range assignor, which the client does not bring along. */
function range ({ cluster }) {
  return {
    name: 'range',
    version: 0,
    protocol: ({ topics }) => ({ name: 'range', metadata: MemberMetadata.encode({ version: 0, topics }) }),
    async assign ({ members }) {
      const subscribers = new Map()
      const plan = new Map()
      for (const { memberId, memberMetadata } of members) {
        plan.set(memberId, {})
        for (const topic of MemberMetadata.decode(memberMetadata).topics) {
          subscribers.set(topic, [...(subscribers.get(topic) ?? []), memberId])
        }
      }
      await cluster.addMultipleTargetTopics([...subscribers.keys()])
      for (const [topic, ids] of subscribers) {
        for (const [id, partitions] of ranges(ids, cluster.findTopicPartitionMetadata(topic).length)) {
          plan.get(id)[topic] = partitions
        }
      }
      return [...plan].map(([memberId, assignment]) => (
        { memberId, memberAssignment: MemberAssignment.encode({ version: 0, assignment }) }
      ))
    }
  }
}

function membership (config) {
  if (config.pattern !== null) {
    throw new Error('the client looks once which topics a pattern matches: it has no subscription by pattern')
  }
  if (config.instance_id !== null) {
    throw new Error('the client has no static members')
  }
  const settings = {
    groupId: config.group,
    // It sends heartbeats between fetches only, so a fetch must not wait for long; by default it waits five seconds.
    maxWaitTimeInMs: Math.min(500, config.heartbeat_interval_ms ?? 500)
  }
  const given = {
    sessionTimeout: config.session_timeout_ms,
    heartbeatInterval: config.heartbeat_interval_ms,
    rebalanceTimeout: config.rebalance_timeout_ms,
    metadataMaxAge: config.metadata_max_age_ms
  }
  for (const [name, value] of Object.entries(given)) {
    if (value !== null) {
      settings[name] = value
    }
  }
  if (config.assignors.length > 0) {
    settings.partitionAssigners = config.assignors.map(name => {
      if (!(name in ASSIGNORS)) {
        throw new Error(`there is no assignor ${JSON.stringify(name)}`)
      }
      return ASSIGNORS[name]
    })
  }
  return settings
}

/**
 * A member until told to close. One batch is worked on at a time, and none while the client joins, so what was told is
 * committed before anything is given up.
 */
export async function consume (client, config, codeOf) {
  const consumer = client.consumer(membership(config))
  let held = null
  let memberId = null
  let fail
  const crash = new Promise((resolve, reject) => { fail = reject })

  function giveUp (event) {
    if (held?.length > 0) {
      tellPartitions(event, held)
    }
    held = null
  }

  consumer.on(consumer.events.REBALANCING, () => giveUp('revoked'))
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    // Without a rebalance before: the client saw new partitions and rejoined, or it was put out and is another member.
    giveUp(payload.memberId === memberId ? 'revoked' : 'lost')
    memberId = payload.memberId
    held = pairs(payload.memberAssignment)
    tellPartitions('assigned', held)
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    giveUp('lost')
    if (payload.restart) {
      tellError(payload.error, codeOf(payload.error))
    } else {
      fail(payload.error)
    }
  })

  await consumer.connect()
  await consumer.subscribe({ topics: config.topics, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch, commitOffsetsIfNecessary }) => {
      const { topic, partition } = batch
      const offsets = tellRecords(
        batch.messages.map(({ offset, value }) => [topic, partition, Number(offset), value?.toString() ?? ''])
      )
      try {
        await commitOffsetsIfNecessary({
          topics: [{ topic, partitions: [{ partition, offset: String(offsets[0][2]) }] }]
        })
      } catch (error) {
        tellError(error, codeOf(error))
        throw error // the client fetches the batch again, or rejoins
      }
      tell('committed', { offsets })
    }
  })
  await Promise.race([closing(), crash])
  await consumer.disconnect()
  giveUp('revoked')
}
