import { Consumer } from '@platformatic/kafka'
import { closing, pairs, ranges, tell, tellError, tellPartitions, tellRecords } from './lines.mjs'

const ASSIGNORS = { range, roundrobin: undefined } // which is its own
const PAUSE = 200 // ms before something that failed is tried again

/** Kafka's range assignor, which the client does not bring along. */
function range (current, members, topics, metadata) {
  const plan = new Map()
  const subscribers = new Map()
  for (const [memberId, { topics }] of members) {
    plan.set(memberId, new Map())
    for (const topic of topics) {
      subscribers.set(topic, [...(subscribers.get(topic) ?? []), memberId])
    }
  }
  for (const [topic, ids] of subscribers) {
    for (const [id, partitions] of ranges(ids, metadata.topics.get(topic).partitionsCount)) {
      plan.get(id).set(topic, { topic, partitions })
    }
  }
  return [...plan].map(([memberId, assignments]) => ({ memberId, assignments }))
}

function membership (config) {
  if (config.pattern !== null) {
    throw new Error('the client subscribes to topics by name only')
  }
  if (config.assignors.length > 1) {
    throw new Error('the client offers one assignor at a time: it does not say which of several was chosen')
  }
  const [name = 'roundrobin'] = config.assignors
  if (!(name in ASSIGNORS)) {
    throw new Error(`there is no assignor ${JSON.stringify(name)}`)
  }
  const settings = {
    groupId: config.group,
    autocommit: false,
    // By default it says that its subscription is of version 1, and leaves out the field that makes it so.
    protocols: [{ name, version: 0 }],
    partitionAssigner: ASSIGNORS[name]
  }
  const given = {
    groupInstanceId: config.instance_id,
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
  if (settings.rebalanceTimeout < settings.sessionTimeout) {
    settings.rebalanceTimeout = settings.sessionTimeout // it takes none that is shorter
  }
  return settings
}

/** A member until told to close. */
export async function consume (connection, config, codeOf) {
  const member = new Member(new Consumer({ ...connection, ...membership(config) }), config, codeOf)
  await member.join()
  await closing()
  await member.close()
}

/**
 * Reads with a stream of its own in each generation. A stream fetches ahead, and goes on with what it has when the
 * partitions are others; a new one begins where the group has committed.
 */
class Member {
  #consumer
  #topics
  #codeOf
  #held = null
  #generation = null // an object for each, by which late work knows that it is late
  #working = Promise.resolve()
  #streams = new Set() // promises of streams that are being opened or closed

  constructor (consumer, config, codeOf) {
    this.#consumer = consumer
    this.#topics = config.topics
    this.#codeOf = codeOf
    consumer.on('consumer:group:rebalance', () => this.#rebalance())
    consumer.on('consumer:group:join', ({ assignments }) => this.#joined(assignments ?? []))
    consumer.on('error', error => this.#failed(error))
  }

  async join () {
    this.#consumer.topics.trackAll(...this.#topics)
    await this.#consumer.joinGroup({})
  }

  async close () {
    this.#stop()
    await this.#working
    await Promise.all(this.#streams) // while a stream closes, the client refuses to leave
    await this.#consumer.close(true)
    this.#giveUp('revoked')
  }

  // A commit that was sent is answered before the client's request to join, which goes over the same connection.
  async #rebalance () {
    this.#stop()
    await this.#working
    this.#giveUp('revoked')
  }

  #joined (assignments) {
    this.#stop()
    this.#giveUp('lost') // nothing said before that there is a rebalance: it was put out, and is another member now
    this.#held = pairs(assignments)
    tellPartitions('assigned', this.#held)
    this.#generation = { stream: null, arrived: [], busy: false }
    if (this.#held.length > 0) {
      this.#keep(this.#read(this.#generation))
    }
  }

  // The client does not try again to join by itself.
  #failed (error) {
    tellError(error, this.#codeOf(error))
    setTimeout(() => {
      if (!this.#consumer.closed && !this.#consumer.isActive()) {
        this.#consumer.joinGroup({}).catch(error => this.#failed(error))
      }
    }, PAUSE)
  }

  #stop () {
    const stream = this.#generation?.stream
    this.#generation = null
    if (stream != null) {
      this.#keep(stream.close().catch(error => tellError(error, this.#codeOf(error))))
    }
  }

  #keep (promise) {
    this.#streams.add(promise)
    promise.finally(() => this.#streams.delete(promise))
  }

  #giveUp (event) {
    if (this.#held?.length > 0) {
      tellPartitions(event, this.#held)
    }
    this.#held = null
  }

  async #read (generation) {
    const again = error => {
      if (generation === this.#generation) {
        tellError(error, this.#codeOf(error))
        generation.stream = null
        setTimeout(() => generation === this.#generation && this.#keep(this.#read(generation)), PAUSE)
      }
    }
    let stream
    try {
      stream = await this.#consumer.consume({
        topics: this.#topics, mode: 'committed', fallbackMode: 'earliest', autocommit: false
      })
    } catch (error) {
      again(error)
      return
    }
    if (generation !== this.#generation) {
      await stream.close()
      return
    }
    generation.stream = stream
    stream.on('error', again)
    stream.on('data', message => {
      generation.arrived.push(message)
      if (!generation.busy && generation === this.#generation) {
        generation.busy = true
        this.#working = this.#work(generation)
      }
    })
  }

  async #work (generation) {
    while (generation.arrived.length > 0) {
      // The commit needs metadata. If it had to ask for that, a request to join could come between.
      await this.#consumer.metadata({ topics: this.#topics })
      if (generation !== this.#generation) {
        return
      }
      await this.#tellAndCommit(generation.arrived.splice(0))
    }
    generation.busy = false
  }

  async #tellAndCommit (messages) {
    const offsets = tellRecords(
      messages.map(({ topic, partition, offset, value }) => [topic, partition, Number(offset), value?.toString() ?? ''])
    )
    try {
      await this.#consumer.commit({
        offsets: offsets.map(([topic, partition, offset]) => ({ topic, partition, offset: BigInt(offset), leaderEpoch: -1 }))
      })
    } catch (error) {
      tellError(error, this.#codeOf(error))
      return
    }
    tell('committed', { offsets })
  }
}
