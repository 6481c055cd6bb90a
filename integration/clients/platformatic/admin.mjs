import {
  Admin, ConfigResourceTypes, describeGroupsV5, FindCoordinatorKeyTypes, IncrementalAlterConfigOperationTypes
} from '@platformatic/kafka'
import { byTopic, comparePartitions, serve } from './lines.mjs'

const RESOURCES = { topic: ConfigResourceTypes.TOPIC, broker: ConfigResourceTypes.BROKER }

/** An operator. */
export async function administer (connection, codeOf) {
  const admin = new Admin({ ...connection, metadataMaxAge: 0 })

  // Not the client's describeGroups, which reads the members' bytes as a consumer's and does not give them as they are.
  async function describe (group) {
    const [{ nodeId }] = await admin.findCoordinator({ keyType: FindCoordinatorKeyTypes.GROUP, keys: [group] })
    const connections = await admin.connectToBrokers([nodeId])
    const { groups: [described] } = await describeGroupsV5.api.async(connections.get(nodeId), [group], false)
    return described
  }

  async function partitionsOf (topic) {
    const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true })
    return topics.get(topic).partitionsCount
  }

  await serve({
    async list_groups () {
      const groups = await admin.listGroups({})
      return [...groups.values()].map(({ id, protocolType }) => [id, protocolType]).sort()
    },

    async describe_group ({ group }) {
      const { groupState, protocolType, protocolData, members } = await describe(group)
      return {
        state: groupState,
        protocol_type: protocolType,
        protocol: protocolData,
        members: members.map(member => ({
          member_id: member.memberId,
          client_id: member.clientId,
          host: member.clientHost,
          instance_id: member.groupInstanceId ?? null,
          metadata: member.memberMetadata.toString('base64'),
          assignment: member.memberAssignment.toString('base64')
        }))
      }
    },

    async list_offsets ({ group }) {
      const [{ topics }] = await admin.listConsumerGroupOffsets({ groups: [group] })
      return topics
        .flatMap(({ name, partitions }) => (
          partitions.map(({ partitionIndex, committedOffset }) => [name, partitionIndex, Number(committedOffset)])
        ))
        .sort(comparePartitions)
    },

    async alter_offsets ({ group, offsets }) {
      await admin.alterConsumerGroupOffsets({
        groupId: group,
        topics: byTopic(offsets).map(([name, positions]) => ({
          name, partitionOffsets: positions.map(([partition, offset]) => ({ partition, offset: BigInt(offset) }))
        }))
      })
    },

    async delete_offsets ({ group, partitions }) {
      await admin.deleteConsumerGroupOffsets({
        groupId: group,
        topics: byTopic(partitions).map(([name, numbers]) => ({ name, partitionIndexes: numbers.flat() }))
      })
    },

    async delete_group ({ group }) {
      await admin.deleteGroups({ groups: [group] })
    },

    // The client removes members by their ids alone.
    async remove_members ({ group, instance_ids: instances }) {
      const { members } = await describe(group)
      const unwanted = (instances ?? []).map(instance => {
        const member = members.find(({ groupInstanceId }) => groupInstanceId === instance)
        if (member === undefined) {
          throw Object.assign(new Error(`${group} has no member ${instance}`), { apiCode: 25 })
        }
        return { memberId: member.memberId }
      })
      await admin.removeMembersFromConsumerGroup({ groupId: group, members: instances === null ? null : unwanted })
    },

    async create_topic ({ topic, partitions, configs }) {
      await admin.createTopics({
        topics: [topic], partitions, configs: Object.entries(configs).map(([name, value]) => ({ name, value }))
      })
    },

    async delete_topic ({ topic }) {
      await admin.deleteTopics({ topics: [topic] })
    },

    async create_partitions ({ topic, count }) {
      await admin.createPartitions({ topics: [{ name: topic, count, assignments: null }] })
    },

    async describe_topic ({ topic }) {
      return { partitions: await partitionsOf(topic) }
    },

    async describe_configs ({ type, name }) {
      const [{ configs }] = await admin.describeConfigs({
        resources: [{ resourceType: RESOURCES[type], resourceName: name, configurationKeys: null }]
      })
      return Object.fromEntries(configs.map(({ name, value }) => [name, value]))
    },

    async alter_configs ({ topic, set, delete: unset }) {
      const { SET, DELETE } = IncrementalAlterConfigOperationTypes
      await admin.incrementalAlterConfigs({
        resources: [{
          resourceType: ConfigResourceTypes.TOPIC,
          resourceName: topic,
          configs: [
            ...Object.entries(set).map(([name, value]) => ({ name, configOperation: SET, value })),
            ...unset.map(name => ({ name, configOperation: DELETE, value: null }))
          ]
        }]
      })
    },

    async describe_cluster () {
      const { id, controllerId, brokers } = await admin.metadata({ topics: [], forceUpdate: true })
      return {
        cluster_id: id,
        controller: controllerId,
        brokers: [...brokers].map(([nodeId, { host, port }]) => [nodeId, host, port])
      }
    },

    async topic_offsets ({ topic, timestamp }) {
      const count = await partitionsOf(topic)
      const [{ partitions }] = await admin.listOffsets({
        topics: [{
          name: topic,
          partitions: Array.from({ length: count }, (_, i) => ({ partitionIndex: i, timestamp: BigInt(timestamp) }))
        }]
      })
      return partitions
        .map(({ partitionIndex, offset }) => [partitionIndex, Number(offset)])
        .sort(([a], [b]) => a - b)
    },

    async delete_records ({ topic, offsets }) {
      await admin.deleteRecords({
        topics: [{
          name: topic, partitions: offsets.map(([partition, offset]) => ({ partition, offset: BigInt(offset) }))
        }]
      })
    }
  }, codeOf)
  await admin.close()
}
