package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

var assignors = map[string]func() sarama.BalanceStrategy{
	"range": sarama.NewBalanceStrategyRange, "roundrobin": sarama.NewBalanceStrategyRoundRobin,
	"sticky": sarama.NewBalanceStrategySticky, "cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky,
}

// After a failure to join, the next attempt waits that long.
const pause = 200 * time.Millisecond

func consume(ctx context.Context, config ConsumerConfig) error {
	settings, err := membership(config)
	if err != nil {
		return err
	}
	client, err := sarama.NewClient([]string{config.Bootstrap}, settings)
	if err != nil {
		return err
	}
	defer client.Close()
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		return err
	}
	group, err := sarama.NewConsumerGroupFromClient(config.Group, client)
	if err != nil {
		return err
	}
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		for err := range group.Errors() {
			TellError(err, false)
		}
	}()
	for ctx.Err() == nil {
		member := &member{group: config.Group, admin: admin}
		err := group.Consume(ctx, config.Topics, member)
		member.tellEnd(err)
		if err != nil && ctx.Err() == nil {
			TellError(err, false)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
	err = group.Close()
	<-reported
	return err
}

func membership(config ConsumerConfig) (*sarama.Config, error) {
	if config.Pattern != nil {
		return nil, errors.New("the client subscribes to topics by name only")
	}
	settings := settings(config.Common)
	settings.Consumer.Return.Errors = true
	// The client has one connection to a broker: commits and heartbeats wait behind a fetch that waits for records.
	settings.Consumer.MaxWaitTime = Milliseconds(100)
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.Offsets.AutoCommit.Enable = false
	group := &settings.Consumer.Group
	if len(config.Assignors) > 0 {
		group.Rebalance.GroupStrategies = nil
	}
	for _, name := range config.Assignors {
		assignor, known := assignors[name]
		if !known {
			return nil, fmt.Errorf("there is no assignor %q", name)
		}
		group.Rebalance.GroupStrategies = append(group.Rebalance.GroupStrategies, assignor())
	}
	if config.InstanceID != nil {
		group.InstanceId = *config.InstanceID
	}
	if config.SessionTimeoutMs != 0 {
		group.Session.Timeout = Milliseconds(config.SessionTimeoutMs)
	}
	if config.HeartbeatIntervalMs != 0 {
		group.Heartbeat.Interval = Milliseconds(config.HeartbeatIntervalMs)
	}
	if config.RebalanceTimeoutMs != 0 {
		group.Rebalance.Timeout = Milliseconds(config.RebalanceTimeoutMs)
	}
	if config.MetadataMaxAgeMs != 0 {
		settings.Metadata.RefreshFrequency = Milliseconds(config.MetadataMaxAgeMs)
	}
	return settings, nil
}

// member handles one session: one generation with an eager assignor, many with a cooperative one, which starts and
// ends claims while the session goes on.
type member struct {
	group string
	admin sarama.ClusterAdmin

	lock    sync.Mutex // one claim tells and commits at a time
	session context.Context
	held    map[Partition]bool
}

// Setup tells what the session begins with.
func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.session = session.Context()
	m.held = map[Partition]bool{}
	for topic, numbers := range session.Claims() {
		for _, number := range numbers {
			m.held[Partition{topic, int(number)}] = true
		}
	}
	TellPartitions("assigned", m.partitions())
	return nil
}

// Cleanup has nothing to do: what was told is committed, and tellEnd tells the rest.
func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim tells and commits what a claim brings, until it is taken.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	partition := Partition{claim.Topic(), int(claim.Partition())}
	m.begin(partition)
	for {
		select {
		case <-session.Context().Done():
			return nil
		case message, open := <-claim.Messages():
			if !open {
				m.end(partition)
				return nil
			}
			m.tellAndCommit(session, partition, drained(message, claim.Messages()))
		}
	}
}

func drained(first *sarama.ConsumerMessage, more <-chan *sarama.ConsumerMessage) []*sarama.ConsumerMessage {
	messages := []*sarama.ConsumerMessage{first}
	for {
		select {
		case message, open := <-more:
			if !open {
				return messages
			}
			messages = append(messages, message)
		default:
			return messages
		}
	}
}

func (m *member) tellAndCommit(
	session sarama.ConsumerGroupSession, partition Partition, messages []*sarama.ConsumerMessage,
) {
	m.lock.Lock()
	defer m.lock.Unlock()
	records := make([]Record, len(messages))
	for i, message := range messages {
		records[i] = Record{Offset{partition, message.Offset}, message.Value}
		session.MarkMessage(message, "")
	}
	offsets := TellRecords(records)
	session.Commit()
	if err := m.verify(offsets[0]); err != nil {
		TellError(fmt.Errorf("commit: %w", err), false)
		return
	}
	TellCommitted(offsets)
}

// verify asks the server what is stored, since Commit does not say how it went.
func (m *member) verify(wanted Offset) error {
	number := int32(wanted.Number)
	answer, err := m.admin.ListConsumerGroupOffsets(m.group, map[string][]int32{wanted.Topic: {number}})
	if err != nil {
		return err
	}
	stored := answer.GetBlock(wanted.Topic, number)
	switch {
	case stored == nil:
		return sarama.ErrIncompleteResponse
	case stored.Err != sarama.ErrNoError:
		return stored.Err
	case stored.Offset != wanted.At:
		return fmt.Errorf("%s-%d: %d is stored instead of %d", wanted.Topic, wanted.Number, stored.Offset, wanted.At)
	}
	return nil
}

// begin tells a claim that a cooperative rebalance added.
func (m *member) begin(partition Partition) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if !m.held[partition] {
		m.held[partition] = true
		TellPartitions("assigned", []Partition{partition})
	}
}

// end tells a claim that was taken alone, and not with the session.
func (m *member) end(partition Partition) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.session.Err() == nil {
		delete(m.held, partition)
		TellPartitions("revoked", []Partition{partition})
	}
}

// tellEnd tells what the session held at its end, and whether it was given up or lost.
func (m *member) tellEnd(err error) {
	if len(m.held) == 0 {
		return
	}
	event := "revoked"
	for _, why := range []error{err, context.Cause(m.session)} {
		for _, loss := range []error{sarama.ErrUnknownMemberId, sarama.ErrIllegalGeneration, sarama.ErrFencedInstancedId} {
			if errors.Is(why, loss) {
				event = "lost"
			}
		}
	}
	TellPartitions(event, m.partitions())
}

func (m *member) partitions() []Partition {
	var all []Partition
	for partition := range m.held {
		all = append(all, partition)
	}
	return all
}
