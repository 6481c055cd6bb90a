package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/describegroups"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

// operator asks through Client, and with its transport's messages where Client keeps something from us: the bytes and
// instances of members, the protocol of a group, and offsets by time.
type operator struct {
	client *kafka.Client
}

func administer(config AdminConfig) (map[string]Call, func(), error) {
	o := operator{&kafka.Client{Addr: kafka.TCP(config.Bootstrap), Timeout: patience}}
	calls := map[string]Call{
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
	}
	// A transport answers Metadata from what it learnt up to six seconds ago, so each call has a new one.
	for name, call := range calls {
		calls[name] = func(ctx context.Context, text json.RawMessage) (any, error) {
			transport := &kafka.Transport{ClientID: config.ClientID}
			defer transport.CloseIdleConnections()
			o.client.Transport = transport
			return call(ctx, text)
		}
	}
	return calls, func() {}, nil
}

func (o operator) listGroups(ctx context.Context, _ Nothing) (any, error) {
	listed, err := o.client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil {
		return nil, err
	}
	groups := [][2]string{}
	for _, group := range listed.Groups {
		groups = append(groups, [2]string{group.GroupID, group.ProtocolType})
	}
	slices.SortFunc(groups, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return groups, listed.Error
}

func (o operator) describe(ctx context.Context, name string) (describegroups.ResponseGroup, error) {
	answer, err := o.client.Transport.RoundTrip(ctx, o.client.Addr, &describegroups.Request{Groups: []string{name}})
	if err != nil {
		return describegroups.ResponseGroup{}, err
	}
	groups := answer.(*describegroups.Response).Groups
	if len(groups) != 1 {
		return describegroups.ResponseGroup{}, fmt.Errorf("%d groups in the answer for one", len(groups))
	}
	return groups[0], failure(groups[0].ErrorCode)
}

func (o operator) describeGroup(ctx context.Context, of GroupOnly) (any, error) {
	described, err := o.describe(ctx, of.Group)
	group := Group{described.GroupState, described.ProtocolType, described.ProtocolData, []Member{}}
	for _, each := range described.Members {
		member := Member{
			MemberID: each.MemberID, ClientID: each.ClientID, Host: each.ClientHost,
			Metadata: each.MemberMetadata, Assignment: each.MemberAssignment,
		}
		if each.GroupInstanceID != "" {
			member.InstanceID = &each.GroupInstanceID
		}
		group.Members = append(group.Members, member)
	}
	return group, err
}

func (o operator) listOffsets(ctx context.Context, of GroupOnly) (any, error) {
	fetched, err := o.client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: of.Group})
	if err != nil {
		return nil, err
	}
	if fetched.Error != nil {
		return nil, fetched.Error
	}
	offsets := []Offset{}
	for topic, partitions := range fetched.Topics {
		for _, each := range partitions {
			if each.Error != nil {
				return nil, each.Error
			}
			offsets = append(offsets, Offset{Partition{topic, each.Partition}, each.CommittedOffset})
		}
	}
	return sorted(offsets), nil
}

func (o operator) alterOffsets(ctx context.Context, to GroupOffsets) (any, error) {
	topics := map[string][]kafka.OffsetCommit{}
	for _, each := range to.Offsets {
		topics[each.Topic] = append(topics[each.Topic], kafka.OffsetCommit{Partition: each.Number, Offset: each.At})
	}
	answer, err := o.client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{GroupID: to.Group, GenerationID: -1, Topics: topics})
	if err != nil {
		return nil, err
	}
	for _, partitions := range answer.Topics {
		for _, each := range partitions {
			if each.Error != nil {
				return nil, each.Error
			}
		}
	}
	return nil, nil
}

func (o operator) deleteOffsets(ctx context.Context, of GroupPartitions) (any, error) {
	topics := map[string][]int{}
	for _, each := range of.Partitions {
		topics[each.Topic] = append(topics[each.Topic], each.Number)
	}
	answer, err := o.client.OffsetDelete(ctx, &kafka.OffsetDeleteRequest{GroupID: of.Group, Topics: topics})
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	for _, partitions := range answer.Topics {
		for _, each := range partitions {
			if each.Error != nil {
				return nil, each.Error
			}
		}
	}
	return nil, nil
}

func (o operator) deleteGroup(ctx context.Context, of GroupOnly) (any, error) {
	answer, err := o.client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{of.Group}})
	if err != nil {
		return nil, err
	}
	return nil, answer.Errors[of.Group]
}

func (o operator) removeMembers(ctx context.Context, of GroupInstances) (any, error) {
	request := &kafka.LeaveGroupRequest{GroupID: of.Group}
	if of.InstanceIDs == nil {
		described, err := o.describe(ctx, of.Group)
		if err != nil {
			return nil, err
		}
		for _, each := range described.Members {
			request.Members = append(request.Members, kafka.LeaveGroupRequestMember{
				ID: each.MemberID, GroupInstanceID: each.GroupInstanceID,
			})
		}
	}
	for _, id := range of.InstanceIDs {
		request.Members = append(request.Members, kafka.LeaveGroupRequestMember{GroupInstanceID: id})
	}
	if len(request.Members) == 0 {
		return nil, errors.New("the client removes one member at least")
	}
	answer, err := o.client.LeaveGroup(ctx, request)
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	for _, member := range answer.Members {
		if member.Error != nil {
			return nil, member.Error
		}
	}
	return nil, nil
}

func (o operator) createTopic(ctx context.Context, wanted NewTopic) (any, error) {
	topic := kafka.TopicConfig{Topic: wanted.Topic, NumPartitions: wanted.Partitions, ReplicationFactor: -1}
	for key, value := range wanted.Configs {
		topic.ConfigEntries = append(topic.ConfigEntries, kafka.ConfigEntry{ConfigName: key, ConfigValue: value})
	}
	answer, err := o.client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}})
	if err != nil {
		return nil, err
	}
	return nil, answer.Errors[wanted.Topic]
}

func (o operator) deleteTopic(ctx context.Context, of TopicOnly) (any, error) {
	answer, err := o.client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{of.Topic}})
	if err != nil {
		return nil, err
	}
	return nil, answer.Errors[of.Topic]
}

func (o operator) createPartitions(ctx context.Context, to TopicCount) (any, error) {
	answer, err := o.client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: to.Topic, Count: int32(to.Count)}},
	})
	if err != nil {
		return nil, err
	}
	return nil, answer.Errors[to.Topic]
}

func (o operator) topic(ctx context.Context, name string) (kafka.Topic, error) {
	described, err := o.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{name}})
	if err != nil {
		return kafka.Topic{}, err
	}
	if len(described.Topics) != 1 {
		return kafka.Topic{}, fmt.Errorf("%d topics in the answer for one", len(described.Topics))
	}
	return described.Topics[0], described.Topics[0].Error
}

func (o operator) describeTopic(ctx context.Context, of TopicOnly) (any, error) {
	topic, err := o.topic(ctx, of.Topic)
	return map[string]int{"partitions": len(topic.Partitions)}, err
}

var resources = map[string]kafka.ResourceType{"topic": kafka.ResourceTypeTopic, "broker": kafka.ResourceTypeBroker}

func (o operator) describeConfigs(ctx context.Context, of Resource) (any, error) {
	kind, known := resources[of.Type]
	if !known {
		return nil, fmt.Errorf("there is no resource type %q", of.Type)
	}
	described, err := o.client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kind, ResourceName: of.Name}},
	})
	if err != nil {
		return nil, err
	}
	if len(described.Resources) != 1 {
		return nil, fmt.Errorf("%d resources in the answer for one", len(described.Resources))
	}
	values := map[string]string{}
	for _, each := range described.Resources[0].ConfigEntries {
		values[each.ConfigName] = each.ConfigValue
	}
	return values, described.Resources[0].Error
}

func (o operator) alterConfigs(ctx context.Context, changes TopicChanges) (any, error) {
	wanted := kafka.IncrementalAlterConfigsRequestResource{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: changes.Topic,
	}
	for key, value := range changes.Set {
		wanted.Configs = append(wanted.Configs, kafka.IncrementalAlterConfigsRequestConfig{
			Name: key, Value: value, ConfigOperation: kafka.ConfigOperationSet,
		})
	}
	for _, key := range changes.Delete {
		wanted.Configs = append(wanted.Configs, kafka.IncrementalAlterConfigsRequestConfig{
			Name: key, ConfigOperation: kafka.ConfigOperationDelete,
		})
	}
	answer, err := o.client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{wanted},
	})
	if err != nil {
		return nil, err
	}
	for _, each := range answer.Resources {
		if each.Error != nil {
			return nil, each.Error
		}
	}
	return nil, nil
}

func (o operator) describeCluster(ctx context.Context, _ Nothing) (any, error) {
	described, err := o.client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return nil, err
	}
	cluster := Cluster{described.ClusterID, described.Controller.ID, [][3]any{}}
	for _, broker := range described.Brokers {
		cluster.Brokers = append(cluster.Brokers, [3]any{broker.ID, broker.Host, broker.Port})
	}
	return cluster, nil
}

func (o operator) topicOffsets(ctx context.Context, of TopicTime) (any, error) {
	topic, err := o.topic(ctx, of.Topic)
	if err != nil {
		return nil, err
	}
	wanted := listoffsets.RequestTopic{Topic: of.Topic}
	for _, partition := range topic.Partitions {
		wanted.Partitions = append(wanted.Partitions, listoffsets.RequestPartition{
			Partition: int32(partition.ID), CurrentLeaderEpoch: -1, Timestamp: of.Timestamp,
		})
	}
	answer, err := o.client.Transport.RoundTrip(ctx, o.client.Addr, &listoffsets.Request{
		ReplicaID: -1, Topics: []listoffsets.RequestTopic{wanted},
	})
	if err != nil {
		return nil, err
	}
	positions := []Position{}
	for _, topic := range answer.(*listoffsets.Response).Topics {
		for _, each := range topic.Partitions {
			if err := failure(each.ErrorCode); err != nil {
				return nil, err
			}
			positions = append(positions, Position{int(each.Partition), each.Offset})
		}
	}
	slices.SortFunc(positions, func(a, b Position) int { return a.Number - b.Number })
	return positions, nil
}

// failure is nil for the code that says that nothing went wrong.
func failure(code int16) error {
	if code == 0 {
		return nil
	}
	return kafka.Error(code)
}
