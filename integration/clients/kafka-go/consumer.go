package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

var assignors = map[string]kafka.GroupBalancer{
	"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{},
}

const (
	// The end of a generation waits until every fetch is answered, ten seconds by default.
	fetchWait = 250 * time.Millisecond
	// After a failure to join, the next attempt waits that long, five seconds by default. The client fails whenever it
	// is to lead members whose subscriptions have more fields than its own; it then leaves, and others may lead.
	joinBackoff = 500 * time.Millisecond
)

func consume(ctx context.Context, config ConsumerConfig) error {
	membership, err := membership(config)
	if err != nil {
		return err
	}
	group, err := kafka.NewConsumerGroup(membership)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		generation, err := group.Next(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			TellError(fmt.Errorf("join: %w", err), false)
		default:
			take(membership, generation)
		}
	}
	return group.Close()
}

func membership(config ConsumerConfig) (kafka.ConsumerGroupConfig, error) {
	membership := kafka.ConsumerGroupConfig{
		ID:                     config.Group,
		Brokers:                []string{config.Bootstrap},
		Dialer:                 &kafka.Dialer{ClientID: config.ClientID, Timeout: 10 * time.Second, DualStack: true},
		Topics:                 config.Topics,
		StartOffset:            kafka.FirstOffset,
		SessionTimeout:         Milliseconds(config.SessionTimeoutMs),
		HeartbeatInterval:      Milliseconds(config.HeartbeatIntervalMs),
		RebalanceTimeout:       Milliseconds(config.RebalanceTimeoutMs),
		JoinGroupBackoff:       joinBackoff,
		WatchPartitionChanges:  true,
		PartitionWatchInterval: Milliseconds(config.MetadataMaxAgeMs),
	}
	if config.Pattern != nil {
		return membership, errors.New("the client subscribes to topics by name only")
	}
	if config.InstanceID != nil {
		return membership, errors.New("the client has no static members")
	}
	for _, name := range config.Assignors {
		assignor, known := assignors[name]
		if !known {
			return membership, fmt.Errorf("there is no assignor %q", name)
		}
		membership.GroupBalancers = append(membership.GroupBalancers, assignor)
	}
	return membership, nil
}

// take has the client wait with the next generation until all of this one is told and committed.
func take(membership kafka.ConsumerGroupConfig, generation *kafka.Generation) {
	assigned := []Partition{}
	for topic, partitions := range generation.Assignments {
		for _, each := range partitions {
			assigned = append(assigned, Partition{topic, each.ID})
		}
	}
	TellPartitions("assigned", assigned)
	generation.Start(func(ctx context.Context) {
		reading, cancel := context.WithCancel(ctx)
		defer cancel()
		messages := make(chan kafka.Message)
		var readers sync.WaitGroup
		for topic, partitions := range generation.Assignments {
			for _, each := range partitions {
				readers.Go(func() { read(reading, membership, topic, each, messages) })
			}
		}
		ending := "revoked"
		for reading.Err() == nil {
			select {
			case <-reading.Done():
			case message := <-messages:
				if err := tellAndCommit(generation, drained(message, messages)); err != nil {
					TellError(fmt.Errorf("commit: %w", err), false)
					if errors.Is(err, kafka.UnknownMemberId) || errors.Is(err, kafka.IllegalGeneration) {
						ending = "lost"
						cancel() // the client would find out by its next heartbeat
					}
				}
			}
		}
		TellPartitions(ending, assigned)
		readers.Wait()
	})
}

// read brings a partition's messages from its position on, until the context ends.
func read(
	ctx context.Context, membership kafka.ConsumerGroupConfig, topic string, from kafka.PartitionAssignment,
	messages chan<- kafka.Message,
) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: membership.Brokers, Dialer: membership.Dialer, Topic: topic, Partition: from.ID,
		MaxWait: fetchWait, MaxBytes: 1 << 20,
	})
	defer reader.Close()
	if err := reader.SetOffset(from.Offset); err != nil {
		TellError(fmt.Errorf("%s-%d: %w", topic, from.ID, err), false)
		return
	}
	for {
		message, err := reader.FetchMessage(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			TellError(fmt.Errorf("%s-%d: %w", topic, from.ID, err), false)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case messages <- message:
		}
	}
}

func drained(first kafka.Message, more <-chan kafka.Message) []kafka.Message {
	messages := []kafka.Message{first}
	enough := time.After(10 * time.Millisecond)
	for len(messages) < 1000 {
		select {
		case message := <-more:
			messages = append(messages, message)
		case <-enough:
			return messages
		}
	}
	return messages
}

func tellAndCommit(generation *kafka.Generation, messages []kafka.Message) error {
	records := make([]Record, len(messages))
	for i, message := range messages {
		records[i] = Record{Offset{Partition{message.Topic, message.Partition}, message.Offset}, message.Value}
	}
	offsets := TellRecords(records)
	positions := map[string]map[int]int64{}
	for _, each := range offsets {
		if positions[each.Topic] == nil {
			positions[each.Topic] = map[int]int64{}
		}
		positions[each.Topic][each.Number] = each.At
	}
	if err := generation.CommitOffsets(positions); err != nil {
		return err
	}
	TellCommitted(offsets)
	return nil
}
