import type { JetStreamManager } from '@nats-io/jetstream'
import { headers, type NatsConnection, RequestError } from '@nats-io/transport-node'
import { partitionOfUser } from '../model/work/partition.ts'
import { tokenOfUser } from '../model/work/user-token.ts'
import { about, UnfitSettings } from './faults.ts'
import { isPartitionStream, type Layout, mappingOf, waitingSubjectOf, waitingSubjects } from './layout.ts'
import { pause } from './pause.ts'
import { isOlder, type ServerVersion } from './server-version.ts'
import { isMissing } from './streams.ts'

/** Since then a stream transforms subjects. */
const firstVersion: ServerVersion = [2, 10, 0]

/**
 * Checks what is there of partitions before streams are created or changed.
 * @throws UnfitSettings when the server is too old, or when streams of other partitions than these exist
 */
export async function checkFormerPartitions(
  connection: NatsConnection,
  manager: JetStreamManager,
  layout: Layout,
): Promise<void> {
  if (layout.partitions > 1 && isOlder(connection.info?.version, firstVersion))
    throw new UnfitSettings(
      `partitions need nats-server ${firstVersion.slice(0, 2).join('.')}, and this is ${connection.info?.version}`,
    )
  const streams = await Array.fromAsync(manager.streams.list()).catch((error: unknown) => {
    throw about('the list of all streams', error)
  })
  for (const { config, state } of streams) {
    if (!isPartitionStream(config.name)) continue
    const wanted = layout.partitionStreams.find(({ name }) => name === config.name)
    if (wanted && sameSet(wanted.subjects, config.subjects)) continue
    throw new UnfitSettings(
      `the stream ${config.name} is of other partitions than the settings say, and has ${state.messages} messages: ` +
        'start with the former settings until it is empty, then delete it',
    )
  }
  await checkFormerWaiting(manager, layout)
}

/** What waits for a stream that these settings do not have would be read by nobody, or out of its order. */
async function checkFormerWaiting(manager: JetStreamManager, { waiting, partitionStreams }: Layout): Promise<void> {
  const info = await manager.streams
    .info(waiting.name, { subjects_filter: waitingSubjects })
    .catch((error: unknown) => {
      if (!isMissing(error)) throw about(`the stream ${waiting.name}`, error)
    })
  const streams = partitionStreams.length > 1 ? partitionStreams : []
  const known = new Set(streams.map(({ name }) => waitingSubjectOf(name)))
  for (const [subject, count] of Object.entries(info?.state.subjects ?? {}))
    if (!known.has(subject))
      throw new UnfitSettings(
        `the stream ${waiting.name} has ${count} messages of other partitions (${subject}) than the settings say: ` +
          'start with the former settings until they are moved',
      )
}

const sameSet = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((each) => others.includes(each))

const probeAttempts = 20
const probePauseMs = 250
/** Tokens that are looked at for each stream: so many that another number of partitions shows. */
const probesPerStream = 8

/**
 * Checks that the server divides users among several streams as the settings say: a message that no stream keeps, since
 * it expects a stream that does not exist, is answered by the stream it came to. One that is away is not asked.
 * @throws UnfitSettings with the line for the server's configuration when it does not
 */
export async function checkMapping(
  connection: NatsConnection,
  manager: JetStreamManager,
  layout: Layout,
  away: ReadonlySet<string>,
): Promise<void> {
  const { partitions, partitionStreams, streamOf } = layout
  if (partitionStreams.length < 2) return
  const users = Array.from({ length: partitionStreams.length * probesPerStream }, (_, n) => `probe-${n}`)
  for (const user of users) {
    const expected = streamOf(partitionOfUser(user, partitions))
    if (away.has(expected)) continue
    const stream = await streamOfUser(connection, user).catch((error: unknown) => {
      throw about(`the stream ${expected}`, error)
    })
    if (stream === expected) continue
    // Its leader may have died since: who asks for it then learns that.
    if (stream === undefined)
      await manager.streams.info(expected).catch((error: unknown) => {
        throw about(`the stream ${expected}`, error)
      })
    const { src, dest } = mappingOf(partitions)
    const actual = stream === undefined ? 'no stream' : `the stream ${stream}`
    throw new UnfitSettings(
      `several streams of partitions need a mapping in the configuration of nats-server, which is not there or another ` +
        `(${user} came to ${actual}): mappings = { "${src}": "${dest}" }`,
    )
  }
}

async function streamOfUser(connection: NatsConnection, userId: string): Promise<string | undefined> {
  const probe = headers()
  probe.set('Nats-Expected-Stream', 'NONE')
  for (let attempt = 1; ; attempt++) {
    try {
      const subject = `notifications.user.${tokenOfUser(userId)}`
      const answer = await connection.request(subject, undefined, { headers: probe, timeout: 2_000 })
      return answer.json<{ stream?: string }>().stream
    } catch (error) {
      if (!(error instanceof RequestError) || attempt === probeAttempts) {
        if (error instanceof RequestError) return undefined
        throw error
      }
      await pause(probePauseMs, new AbortController().signal)
    }
  }
}
