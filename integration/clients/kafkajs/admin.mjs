import kafkajs from 'kafkajs'
import { byTopic, comparePartitions, serve } from './lines.mjs'

const { ConfigResourceTypes } = kafkajs

const RESOURCES = { topic: ConfigResourceTypes.TOPIC, broker: ConfigResourceTypes.BROKER }
const SET_ON_THE_TOPIC = 1 // where a value comes from

/** An operator. The client cannot delete offsets or remove members. */
export async function administer (client, codeOf) {
  const admin = client.admin()
  await admin.connect()

  async function configsOf (type, name) {
    const { resources: [{ configEntries, errorCode, errorMessage }] } = await admin.describeConfigs({
      includeSynonyms: false, resources: [{ type: RESOURCES[type], name }]
    })
    if (errorCode !== 0) {
      throw Object.assign(new Error(errorMessage), { code: errorCode })
    }
    return configEntries
  }

  await serve({
    async list_groups () {
      const { groups } = await admin.listGroups()
      return groups.map(({ groupId, protocolType }) => [groupId, protocolType]).sort()
    },

    async describe_group ({ group }) {
      const { groups: [{ errorCode, state, protocolType, protocol, members }] } = await admin.describeGroups([group])
      if (errorCode !== 0) {
        throw Object.assign(new Error(`the group cannot be described: ${errorCode}`), { code: errorCode })
      }
      return {
        state,
        protocol_type: protocolType,
        protocol,
        members: members.map(member => ({
          member_id: member.memberId,
          client_id: member.clientId,
          host: member.clientHost,
          instance_id: null, // not in the versions that the client speaks
          metadata: member.memberMetadata?.toString('base64') ?? null,
          assignment: member.memberAssignment?.toString('base64') ?? null
        }))
      }
    },

    async list_offsets ({ group }) {
      const topics = await admin.fetchOffsets({ groupId: group })
      return topics
        .flatMap(({ topic, partitions }) => partitions.map(({ partition, offset }) => [topic, partition, Number(offset)]))
        .sort(comparePartitions)
    },

    async alter_offsets ({ group, offsets }) {
      for (const [topic, positions] of byTopic(offsets)) {
        await admin.setOffsets({
          groupId: group,
          topic,
          partitions: positions.map(([partition, offset]) => ({ partition, offset: String(offset) }))
        })
      }
    },

    async delete_group ({ group }) {
      await admin.deleteGroups([group])
    },

    async create_topic ({ topic, partitions, configs }) {
      const created = await admin.createTopics({
        topics: [{
          topic,
          numPartitions: partitions,
          replicationFactor: -1,
          configEntries: Object.entries(configs).map(([name, value]) => ({ name, value }))
        }]
      })
      if (!created) { // the client's word for this one error
        throw Object.assign(new Error(`topic ${topic} is there already`), { code: 36 })
      }
    },

    async delete_topic ({ topic }) {
      await admin.deleteTopics({ topics: [topic] })
    },

    async create_partitions ({ topic, count }) {
      await admin.createPartitions({ topicPartitions: [{ topic, count }] })
    },

    async describe_topic ({ topic }) {
      const { topics: [{ partitions }] } = await admin.fetchTopicMetadata({ topics: [topic] })
      return { partitions: partitions.length }
    },

    async describe_configs ({ type, name }) {
      const entries = await configsOf(type, name)
      return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]))
    },

    // The client has AlterConfigs alone, which replaces everything that is set on the topic.
    async alter_configs ({ topic, set, delete: unset }) {
      const before = (await configsOf('topic', topic)).filter(entry => entry.configSource === SET_ON_THE_TOPIC)
      const wanted = { ...Object.fromEntries(before.map(entry => [entry.configName, entry.configValue])), ...set }
      for (const name of unset) {
        delete wanted[name]
      }
      await admin.alterConfigs({
        validateOnly: false,
        resources: [{
          type: ConfigResourceTypes.TOPIC,
          name: topic,
          configEntries: Object.entries(wanted).map(([name, value]) => ({ name, value }))
        }]
      })
    },

    async describe_cluster () {
      const { clusterId, controller, brokers } = await admin.describeCluster()
      return { cluster_id: clusterId, controller, brokers: brokers.map(({ nodeId, host, port }) => [nodeId, host, port]) }
    },

    async topic_offsets ({ topic, timestamp }) {
      const ends = await admin.fetchTopicOffsets(topic)
      if (timestamp === -1 || timestamp === -2) {
        return positions(ends, ({ high, low }) => timestamp === -1 ? high : low)
      }
      // Where no record is that late, the client gives the end instead.
      const highs = new Map(ends.map(({ partition, high }) => [partition, high]))
      return positions(
        await admin.fetchTopicOffsetsByTimestamp(topic, timestamp),
        ({ partition, offset }) => offset === highs.get(partition) ? -1 : offset
      )
    },

    async delete_records ({ topic, offsets }) {
      await admin.fetchTopicOffsets(topic) // so that it knows the leaders of a topic that it was not asked about before
      await admin.deleteTopicRecords({
        topic, partitions: offsets.map(([partition, offset]) => ({ partition, offset: String(offset) }))
      })
    }
  }, codeOf)
  await admin.disconnect()
}

function positions (partitions, offsetOf) {
  return partitions
    .map(each => [each.partition, Number(offsetOf(each))])
    .sort(([a], [b]) => a - b)
}
