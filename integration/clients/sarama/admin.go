package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/IBM/sarama"
)

// operator asks through ClusterAdmin, and a broker itself where that lacks something: the cluster's id, and the removal
// of members that are not static.
type operator struct {
	admin sarama.ClusterAdmin
}

func administer(config AdminConfig) (map[string]Call, func(), error) {
	admin, err := sarama.NewClusterAdmin([]string{config.Bootstrap}, settings(config.Common))
	if err != nil {
		return nil, nil, err
	}
	o := operator{admin}
	return map[string]Call{
		"list_groups":       Command(o.listGroups),
		"describe_group":    Command(o.describeGroup),
		"list_offsets":      Command(o.listOffsets),
		"alter_offsets":     Command(o.alterOffsets),
		"delete_offsets":    Command(o.deleteOffsets),
		"delete_group":      Command(o.deleteGroup),
		"remove_members":    Command(o.removeMembers),
		"create_topic":      Command(o.createTopic),
		"delete_topic":      Command(o.deleteTopic),
		"create_partitions": Command(o.createPartitions),
		"describe_topic":    Command(o.describeTopic),
		"describe_configs":  Command(o.describeConfigs),
		"alter_configs":     Command(o.alterConfigs),
		"describe_cluster":  Command(o.describeCluster),
		"topic_offsets":     Command(o.topicOffsets),
		"delete_records":    Command(o.deleteRecords),
	}, func() { admin.Close() }, nil
}

func (o operator) listGroups(context.Context, Nothing) (any, error) {
	listed, err := o.admin.ListConsumerGroups()
	groups := [][2]string{}
	for name, protocolType := range listed {
		groups = append(groups, [2]string{name, protocolType})
	}
	slices.SortFunc(groups, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return groups, err
}

func (o operator) describe(name string) (*sarama.GroupDescription, error) {
	described, err := o.admin.DescribeConsumerGroups([]string{name})
	if err != nil {
		return nil, err
	}
	if len(described) != 1 {
		return nil, fmt.Errorf("%d groups in the answer for one", len(described))
	}
	return described[0], failure(described[0].Err)
}

func (o operator) describeGroup(_ context.Context, of GroupOnly) (any, error) {
	described, err := o.describe(of.Group)
	if err != nil {
		return nil, err
	}
	group := Group{described.State, described.ProtocolType, described.Protocol, []Member{}}
	for _, each := range described.Members {
		group.Members = append(group.Members, Member{
			each.MemberId, each.ClientId, each.ClientHost, each.GroupInstanceId, each.MemberMetadata, each.MemberAssignment,
		})
	}
	return group, nil
}

func (o operator) listOffsets(_ context.Context, of GroupOnly) (any, error) {
	fetched, err := o.admin.ListConsumerGroupOffsets(of.Group, nil)
	if err != nil {
		return nil, err
	}
	offsets := []Offset{}
	for topic, blocks := range fetched.Blocks {
		for number, block := range blocks {
			if err := failure(block.Err); err != nil {
				return nil, err
			}
			offsets = append(offsets, Offset{Partition{topic, int(number)}, block.Offset})
		}
	}
	return sorted(offsets), nil
}

func (o operator) alterOffsets(_ context.Context, to GroupOffsets) (any, error) {
	offsets := map[string]map[int32]sarama.OffsetAndMetadata{}
	for _, each := range to.Offsets {
		if offsets[each.Topic] == nil {
			offsets[each.Topic] = map[int32]sarama.OffsetAndMetadata{}
		}
		offsets[each.Topic][int32(each.Number)] = sarama.OffsetAndMetadata{Offset: each.At, LeaderEpoch: -1}
	}
	answer, err := o.admin.AlterConsumerGroupOffsets(to.Group, offsets, nil)
	if err != nil {
		return nil, err
	}
	for _, codes := range answer.Errors {
		for _, code := range codes {
			if err := failure(code); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// deleteOffsets asks once for each partition, as the client does.
func (o operator) deleteOffsets(_ context.Context, of GroupPartitions) (any, error) {
	for _, each := range of.Partitions {
		if err := o.admin.DeleteConsumerGroupOffset(of.Group, each.Topic, int32(each.Number)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (o operator) deleteGroup(_ context.Context, of GroupOnly) (any, error) {
	return nil, o.admin.DeleteConsumerGroup(of.Group)
}

func (o operator) removeMembers(_ context.Context, of GroupInstances) (any, error) {
	answer, err := o.leave(of)
	if err != nil {
		return nil, err
	}
	if err := failure(answer.Err); err != nil {
		return nil, err
	}
	for _, member := range answer.Members {
		if err := failure(member.Err); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (o operator) leave(of GroupInstances) (*sarama.LeaveGroupResponse, error) {
	if of.InstanceIDs != nil {
		return o.admin.RemoveMemberFromConsumerGroup(of.Group, of.InstanceIDs)
	}
	described, err := o.describe(of.Group)
	if err != nil {
		return nil, err
	}
	request := &sarama.LeaveGroupRequest{Version: 4, GroupId: of.Group}
	for _, each := range described.Members {
		request.Members = append(request.Members, sarama.MemberIdentity{
			MemberId: each.MemberId, GroupInstanceId: each.GroupInstanceId,
		})
	}
	coordinator, err := o.admin.Coordinator(of.Group)
	if err != nil {
		return nil, err
	}
	return coordinator.LeaveGroup(request)
}

func (o operator) createTopic(_ context.Context, wanted NewTopic) (any, error) {
	configs := map[string]*string{}
	for key, value := range wanted.Configs {
		configs[key] = &value
	}
	return nil, o.admin.CreateTopic(wanted.Topic, &sarama.TopicDetail{
		NumPartitions: int32(wanted.Partitions), ReplicationFactor: -1, ConfigEntries: configs,
	}, false)
}

func (o operator) deleteTopic(_ context.Context, of TopicOnly) (any, error) {
	return nil, o.admin.DeleteTopic(of.Topic)
}

func (o operator) createPartitions(_ context.Context, to TopicCount) (any, error) {
	return nil, o.admin.CreatePartitions(to.Topic, int32(to.Count), nil, false)
}

func (o operator) topic(name string) (*sarama.TopicMetadata, error) {
	described, err := o.admin.DescribeTopics([]string{name})
	if err != nil {
		return nil, err
	}
	if len(described) != 1 {
		return nil, fmt.Errorf("%d topics in the answer for one", len(described))
	}
	return described[0], failure(described[0].Err)
}

func (o operator) describeTopic(_ context.Context, of TopicOnly) (any, error) {
	described, err := o.topic(of.Topic)
	if err != nil {
		return nil, err
	}
	return map[string]int{"partitions": len(described.Partitions)}, nil
}

var resources = map[string]sarama.ConfigResourceType{"topic": sarama.TopicResource, "broker": sarama.BrokerResource}

func (o operator) describeConfigs(_ context.Context, of Resource) (any, error) {
	kind, known := resources[of.Type]
	if !known {
		return nil, fmt.Errorf("there is no resource type %q", of.Type)
	}
	described, err := o.admin.DescribeConfigs(
		[]*sarama.ConfigResource{{Type: kind, Name: of.Name}}, sarama.DescribeConfigsOptions{},
	)
	if err != nil {
		return nil, err
	}
	if len(described) != 1 {
		return nil, fmt.Errorf("%d resources in the answer for one", len(described))
	}
	if err := failure(described[0].ErrorCode); err != nil {
		return nil, fmt.Errorf("%w: %s", err, described[0].ErrorMsg)
	}
	values := map[string]string{}
	for _, each := range described[0].Configs {
		values[each.Name] = each.Value
	}
	return values, nil
}

func (o operator) alterConfigs(_ context.Context, changes TopicChanges) (any, error) {
	entries := map[string]sarama.IncrementalAlterConfigsEntry{}
	for key, value := range changes.Set {
		entries[key] = sarama.IncrementalAlterConfigsEntry{
			Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value,
		}
	}
	for _, key := range changes.Delete {
		entries[key] = sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationDelete}
	}
	return nil, o.admin.IncrementalAlterConfig(sarama.TopicResource, changes.Topic, entries, false)
}

func (o operator) describeCluster(context.Context, Nothing) (any, error) {
	controller, err := o.admin.Controller()
	if err != nil {
		return nil, err
	}
	described, err := controller.DescribeCluster(sarama.NewDescribeClusterRequest(sarama.MaxVersion))
	if err != nil {
		return nil, err
	}
	cluster := Cluster{described.ClusterID, int(described.ControllerID), [][3]any{}}
	for _, broker := range described.Brokers {
		cluster.Brokers = append(cluster.Brokers, [3]any{broker.BrokerID, broker.Host, broker.Port})
	}
	return cluster, failure(described.Err)
}

func (o operator) topicOffsets(_ context.Context, of TopicTime) (any, error) {
	described, err := o.topic(of.Topic)
	if err != nil {
		return nil, err
	}
	wanted := map[int32]int64{}
	for _, partition := range described.Partitions {
		wanted[partition.ID] = of.Timestamp
	}
	listed, err := o.admin.ListOffsets(map[string]map[int32]int64{of.Topic: wanted}, nil)
	if err != nil {
		return nil, err
	}
	positions := []Position{}
	for number := range int32(len(wanted)) {
		each, given := listed[of.Topic][number]
		if !given {
			return nil, sarama.ErrIncompleteResponse
		}
		if err := each.Err; err != nil && !errors.Is(err, sarama.ErrNoError) {
			return nil, err
		}
		positions = append(positions, Position{int(number), each.Offset})
	}
	return positions, nil
}

func (o operator) deleteRecords(_ context.Context, before TopicPositions) (any, error) {
	offsets := map[int32]int64{}
	for _, each := range before.Offsets {
		offsets[int32(each.Number)] = each.At
	}
	return nil, o.admin.DeleteRecords(before.Topic, offsets)
}

// failure is nil for the code that says that nothing went wrong.
func failure(code sarama.KError) error {
	if code == sarama.ErrNoError {
		return nil
	}
	return code
}
