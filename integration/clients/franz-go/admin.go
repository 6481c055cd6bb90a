package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// operator asks through kadm, and with its own requests where kadm keeps bytes or members from us.
type operator struct {
	client *kgo.Client
	admin  *kadm.Client
}

func administer(config AdminConfig) (map[string]Call, func(), error) {
	connected, err := client(config.Common)
	if err != nil {
		return nil, nil, err
	}
	o := operator{connected, kadm.NewClient(connected)}
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
	}, connected.Close, nil
}

func (o operator) listGroups(ctx context.Context, _ Nothing) (any, error) {
	listed, err := o.admin.ListGroups(ctx)
	groups := [][2]string{}
	for _, group := range listed.Sorted() {
		groups = append(groups, [2]string{group.Group, group.ProtocolType})
	}
	return groups, err
}

// describe is not kadm's, which reads a member's bytes and does not give them as they are.
func (o operator) describe(ctx context.Context, name string) (kmsg.DescribeGroupsResponseGroup, error) {
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Groups = []string{name}
	answer, err := request.RequestWith(ctx, o.client)
	if err != nil {
		return kmsg.DescribeGroupsResponseGroup{}, err
	}
	if len(answer.Groups) != 1 {
		return kmsg.DescribeGroupsResponseGroup{}, fmt.Errorf("%d groups in the answer for one", len(answer.Groups))
	}
	return answer.Groups[0], said(answer.Groups[0].ErrorCode, answer.Groups[0].ErrorMessage)
}

func (o operator) describeGroup(ctx context.Context, of GroupOnly) (any, error) {
	described, err := o.describe(ctx, of.Group)
	group := Group{described.State, described.ProtocolType, described.Protocol, []Member{}}
	for _, each := range described.Members {
		group.Members = append(group.Members, Member{
			each.MemberID, each.ClientID, each.ClientHost, each.InstanceID, each.ProtocolMetadata, each.MemberAssignment,
		})
	}
	return group, err
}

func (o operator) listOffsets(ctx context.Context, of GroupOnly) (any, error) {
	fetched, err := o.admin.FetchOffsets(ctx, of.Group)
	offsets := []Offset{}
	for _, each := range fetched.Sorted() {
		if each.Err != nil {
			return nil, each.Err
		}
		offsets = append(offsets, Offset{Partition{each.Topic, int(each.Partition)}, each.At})
	}
	return offsets, err
}

func (o operator) alterOffsets(ctx context.Context, to GroupOffsets) (any, error) {
	offsets := kadm.Offsets{}
	for _, each := range to.Offsets {
		offsets.AddOffset(each.Topic, int32(each.Number), each.At, -1)
	}
	return nil, o.admin.CommitAllOffsets(ctx, to.Group, offsets)
}

func (o operator) deleteOffsets(ctx context.Context, of GroupPartitions) (any, error) {
	unwanted := kadm.TopicsSet{}
	for _, each := range of.Partitions {
		unwanted.Add(each.Topic, int32(each.Number))
	}
	deleted, err := o.admin.DeleteOffsets(ctx, of.Group, unwanted)
	if err != nil {
		return nil, err
	}
	return nil, deleted.Error()
}

func (o operator) deleteGroup(ctx context.Context, of GroupOnly) (any, error) {
	deleted, err := o.admin.DeleteGroup(ctx, of.Group)
	if err != nil {
		return nil, err
	}
	return nil, deleted.Err
}

// removeMembers is not kadm's, which knows static members only.
func (o operator) removeMembers(ctx context.Context, of GroupInstances) (any, error) {
	request := kmsg.NewPtrLeaveGroupRequest()
	request.Group = of.Group
	if of.InstanceIDs == nil {
		described, err := o.describe(ctx, of.Group)
		if err != nil {
			return nil, err
		}
		for _, each := range described.Members {
			member := kmsg.NewLeaveGroupRequestMember()
			member.MemberID, member.InstanceID = each.MemberID, each.InstanceID
			request.Members = append(request.Members, member)
		}
	}
	for _, id := range of.InstanceIDs {
		member := kmsg.NewLeaveGroupRequestMember()
		member.InstanceID = &id
		request.Members = append(request.Members, member)
	}
	answer, err := request.RequestWith(ctx, o.client)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, err
	}
	for _, member := range answer.Members {
		if err := kerr.ErrorForCode(member.ErrorCode); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (o operator) createTopic(ctx context.Context, wanted NewTopic) (any, error) {
	configs := map[string]*string{}
	for key, value := range wanted.Configs {
		configs[key] = &value
	}
	created, err := o.admin.CreateTopic(ctx, int32(wanted.Partitions), -1, configs, wanted.Topic)
	return nil, explained(err, created.ErrMessage)
}

func (o operator) deleteTopic(ctx context.Context, of TopicOnly) (any, error) {
	deleted, err := o.admin.DeleteTopic(ctx, of.Topic)
	return nil, explained(err, deleted.ErrMessage)
}

func (o operator) createPartitions(ctx context.Context, to TopicCount) (any, error) {
	changed, err := o.admin.UpdatePartitions(ctx, to.Count, to.Topic)
	if err != nil {
		return nil, err
	}
	return nil, explained(changed[to.Topic].Err, changed[to.Topic].ErrMessage)
}

func (o operator) describeTopic(ctx context.Context, of TopicOnly) (any, error) {
	listed, err := o.admin.ListTopicsWithInternal(ctx, of.Topic)
	if err != nil {
		return nil, err
	}
	return map[string]int{"partitions": len(listed[of.Topic].Partitions)}, listed[of.Topic].Err
}

func (o operator) describeConfigs(ctx context.Context, of Resource) (any, error) {
	var described kadm.ResourceConfigs
	var err error
	switch of.Type {
	case "topic":
		described, err = o.admin.DescribeTopicConfigs(ctx, of.Name)
	case "broker":
		var id int
		if id, err = strconv.Atoi(of.Name); err == nil {
			described, err = o.admin.DescribeBrokerConfigs(ctx, int32(id))
		}
	default:
		err = fmt.Errorf("there is no resource type %q", of.Type)
	}
	if err != nil {
		return nil, err
	}
	resource, err := described.On(of.Name, nil)
	if err == nil {
		err = explained(resource.Err, resource.ErrMessage)
	}
	values := map[string]*string{}
	for _, each := range resource.Configs {
		values[each.Key] = each.Value
	}
	return values, err
}

func (o operator) alterConfigs(ctx context.Context, changes TopicChanges) (any, error) {
	var wanted []kadm.AlterConfig
	for key, value := range changes.Set {
		wanted = append(wanted, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: &value})
	}
	for _, key := range changes.Delete {
		wanted = append(wanted, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: key})
	}
	altered, err := o.admin.AlterTopicConfigs(ctx, wanted, changes.Topic)
	if err != nil {
		return nil, err
	}
	resource, err := altered.On(changes.Topic, nil)
	if err != nil {
		return nil, err
	}
	return nil, explained(resource.Err, resource.ErrMessage)
}

func (o operator) describeCluster(ctx context.Context, _ Nothing) (any, error) {
	described, err := o.admin.BrokerMetadata(ctx)
	cluster := Cluster{described.Cluster, int(described.Controller), [][3]any{}}
	for _, broker := range described.Brokers {
		cluster.Brokers = append(cluster.Brokers, [3]any{broker.NodeID, broker.Host, broker.Port})
	}
	return cluster, err
}

func (o operator) topicOffsets(ctx context.Context, of TopicTime) (any, error) {
	var listed kadm.ListedOffsets
	var err error
	switch {
	case of.Timestamp == -1:
		listed, err = o.admin.ListEndOffsets(ctx, of.Topic)
	case of.Timestamp == -2:
		listed, err = o.admin.ListStartOffsets(ctx, of.Topic)
	case of.Timestamp == -3:
		listed, err = o.admin.ListMaxTimestampOffsets(ctx, of.Topic)
	case of.Timestamp >= 0:
		listed, err = o.admin.ListOffsetsAfterMilli(ctx, of.Timestamp, of.Topic)
	default:
		err = fmt.Errorf("there is no call for the timestamp %d", of.Timestamp)
	}
	if err != nil {
		return nil, err
	}
	if err := listed.Error(); err != nil {
		return nil, err
	}
	positions := []Position{}
	for number := range int32(len(listed[of.Topic])) {
		each := listed[of.Topic][number]
		if of.Timestamp >= 0 && each.Timestamp == -1 {
			each.Offset = -1 // where no record is that late, the client asks once more, for the end
		}
		positions = append(positions, Position{int(number), each.Offset})
	}
	return positions, nil
}

func (o operator) deleteRecords(ctx context.Context, before TopicPositions) (any, error) {
	offsets := kadm.Offsets{}
	for _, each := range before.Offsets {
		offsets.AddOffset(before.Topic, int32(each.Number), each.At, -1)
	}
	deleted, err := o.admin.DeleteRecords(ctx, offsets)
	if err != nil {
		return nil, err
	}
	return nil, deleted.Error()
}

func explained(err error, message string) error {
	if err == nil || message == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, message)
}

func said(code int16, message *string) error {
	if message == nil {
		return kerr.ErrorForCode(code)
	}
	return explained(kerr.ErrorForCode(code), *message)
}
