import type { Log } from '@gatehouse/kit'
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'

/**
 * What an operator may choose of a stream. What is left out gets a default when the stream is created, and stays as it
 * is in a stream that exists.
 */
export interface StreamSettings {
  /** Copies in a cluster, 1 to 5. Default 1. */
  readonly replicas?: number
  /** Default `file`. It can't be changed once the stream exists. */
  readonly storage?: 'file' | 'memory'
  /** Messages older than this are removed, in milliseconds; 0 for never. */
  readonly maxAgeMs?: number
  /** Most bytes; -1 for no limit, which is the default. */
  readonly maxBytes?: number
  /** Most messages; -1 for no limit, which is the default. */
  readonly maxMessages?: number
  /** At a limit: remove the oldest messages, or refuse new ones. */
  readonly discard?: 'old' | 'new'
}

/** A stream that the service needs. */
export interface StreamDefinition {
  readonly name: string
  readonly subject: string
  readonly retention: RetentionPolicy
  readonly defaults: StreamSettings
}

/** The subject producers publish to. At a limit it refuses: what a producer was acknowledged is never removed unread. */
export const intakeStream: StreamDefinition = {
  name: 'NOTIFICATIONS',
  subject: 'notifications',
  retention: RetentionPolicy.Workqueue,
  defaults: { replicas: 1, storage: 'file', discard: 'new' },
}

/** The subject state changes are published on. */
export const changesStream: StreamDefinition = {
  name: 'NOTIFICATION_EVENTS',
  subject: 'notifications.events',
  retention: RetentionPolicy.Limits,
  defaults: { replicas: 1, storage: 'file', discard: 'old', maxAgeMs: 7 * 86_400_000 },
}

/** Whether an error of JetStream says that the stream or the consumer is not there. */
export function isMissing(error: unknown): boolean {
  return (
    error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamNotFound || error.code === JetStreamApiCodes.ConsumerNotFound)
  )
}

const nameInUse = 10_058

/** Creates the stream when it is missing. Answers whether this call did. @throws when the server refuses */
export async function createMissing(
  manager: JetStreamManager,
  definition: StreamDefinition,
  settings: StreamSettings,
): Promise<boolean> {
  const { name, subject, retention, defaults } = definition
  try {
    await manager.streams.info(name)
    return false
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  try {
    await manager.streams.add({ name, subjects: [subject], retention, ...configOf({ ...defaults, ...settings }) })
    return true
  } catch (error) {
    // Another process was faster, and its settings differ.
    if (error instanceof JetStreamApiError && error.code === nameInUse) return false
    throw new Error(`the stream ${name} can't be created: ${(error as Error).message}`, { cause: error })
  }
}

/**
 * Brings a stream that exists to the settings. Each that the server does not change is logged with both values, and the
 * stream is used as it is.
 * @throws Error when the stream does not take the subject
 */
export async function applySettings(
  manager: JetStreamManager,
  { name, subject }: StreamDefinition,
  settings: StreamSettings,
  log: Log,
): Promise<void> {
  const { config } = await manager.streams.info(name)
  if (!config.subjects.some((pattern) => matchesSubject(pattern, subject)))
    throw new Error(`the stream ${name} takes the subjects ${config.subjects.join(', ')}, and not ${subject}`)
  const wanted = configOf(settings)
  const changes = Object.entries(wanted).filter(([member, value]) => config[member as keyof StreamConfig] !== value)
  const refused = (member: string, value: unknown, reason: string) =>
    log.error(
      { stream: name, setting: member, is: config[member as keyof StreamConfig], wanted: value, reason },
      `the stream ${name} keeps another ${member} than the settings say`,
    )
  const update = Object.fromEntries(changes.filter(([member]) => member !== 'storage'))
  for (const [member, value] of changes)
    if (member === 'storage') refused(member, value, 'the storage of an existing stream can not be changed')
  if (Object.keys(update).length === 0) return
  try {
    await manager.streams.update(name, update)
    log.info({ stream: name, ...update }, 'the settings of a stream were changed')
  } catch {
    // One that is refused must not keep the others from being applied.
    for (const [member, value] of Object.entries(update))
      await manager.streams.update(name, { [member]: value }).catch((error: Error) => {
        refused(member, value, error.message)
      })
  }
}

type ChosenConfig = Partial<
  Pick<StreamConfig, 'num_replicas' | 'storage' | 'max_age' | 'max_bytes' | 'max_msgs' | 'discard'>
>

function configOf({ replicas, storage, maxAgeMs, maxBytes, maxMessages, discard }: StreamSettings): ChosenConfig {
  return {
    ...(replicas === undefined ? {} : { num_replicas: replicas }),
    ...(storage === undefined ? {} : { storage: storage === 'file' ? StorageType.File : StorageType.Memory }),
    ...(maxAgeMs === undefined ? {} : { max_age: nanos(maxAgeMs) }),
    ...(maxBytes === undefined ? {} : { max_bytes: maxBytes }),
    ...(maxMessages === undefined ? {} : { max_msgs: maxMessages }),
    ...(discard === undefined ? {} : { discard: discard === 'old' ? DiscardPolicy.Old : DiscardPolicy.New }),
  }
}

/** Whether a subject of a stream, which may have wildcards, takes messages of another. */
function matchesSubject(pattern: string, subject: string): boolean {
  const tokens = subject.split('.')
  const patterns = pattern.split('.')
  const matches = patterns.every((each, at) =>
    each === '>' ? at < tokens.length : at < tokens.length && (each === '*' || each === tokens[at]),
  )
  return matches && (patterns.at(-1) === '>' || patterns.length === tokens.length)
}
