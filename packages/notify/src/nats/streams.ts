import type { Log } from '@gatehouse/kit'
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type RetentionPolicy,
  StorageType,
  type StreamConfig,
  type SubjectTransformConfig,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { UnfitSettings } from './faults.ts'

/** Below it is the token of the user, which the server can divide the topic by. */
export const userSubjects = 'notifications.user.*'

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
  /** What it takes; the first of them a stream that exists must take already, the others it is given. */
  readonly subjects: readonly string[]
  readonly retention: RetentionPolicy
  readonly defaults: StreamSettings
  /** What the server does with the subjects of messages before it stores them. */
  readonly transform?: SubjectTransformConfig
  /** How many consumers it may have, where as many as the server allows by default are too few. */
  readonly maxConsumers?: number
}

/** Whether an error of JetStream says that the stream or the consumer is not there. */
export function isMissing(error: unknown): boolean {
  return (
    error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamNotFound || error.code === JetStreamApiCodes.ConsumerNotFound)
  )
}

const nameInUse = 10_058
const notClustered = 10_074
const noSuitablePeers = 10_005

/** Creates the stream when it is missing. Answers whether this call did. @throws when the server refuses */
export async function createMissing(
  manager: JetStreamManager,
  definition: StreamDefinition,
  settings: StreamSettings,
): Promise<boolean> {
  const { name, subjects, retention, defaults, transform, maxConsumers } = definition
  try {
    await manager.streams.info(name)
    return false
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  const chosen = { ...defaults, ...settings }
  try {
    await manager.streams.add({
      name,
      subjects: [...subjects],
      retention,
      ...configOf(chosen),
      ...(transform ? { subject_transform: transform } : {}),
      ...(maxConsumers ? { max_consumers: maxConsumers } : {}),
    })
    return true
  } catch (error) {
    // Another process was faster, and its settings differ.
    if (error instanceof JetStreamApiError && error.code === nameInUse) return false
    throw refusedOf(`the stream ${name} can't be created`, error, chosen)
  }
}

/** The error of a server that refuses a stream. Without a cluster it does so as long as there are to be several copies. */
function refusedOf(what: string, error: unknown, settings: StreamSettings): Error {
  const message = `${what}: ${reasonOf(error, settings)}`
  return isNotClustered(error) ? new UnfitSettings(message, { cause: error }) : new Error(message, { cause: error })
}

const isNotClustered = (error: unknown) => error instanceof JetStreamApiError && error.code === notClustered

/** Why the server refuses a stream, where it is for its replicas in words that name the setting. */
function reasonOf(error: unknown, { replicas = 1 }: StreamSettings): string {
  const code = error instanceof JetStreamApiError ? error.code : undefined
  if (code === notClustered) return `it is to have ${replicas} replicas, and NATS is one server without a cluster`
  if (code === noSuitablePeers && replicas > 1)
    return `it is to have ${replicas} replicas, and fewer servers of the NATS cluster can take one (${(error as Error).message})`
  return (error as Error).message
}

/**
 * Brings a stream that exists to the settings. Each that the server does not change is logged with both values, and the
 * stream is used as it is.
 * @throws UnfitSettings when the stream does not take the subject, or is to have replicas on a server without a cluster
 */
export async function applySettings(
  manager: JetStreamManager,
  definition: StreamDefinition,
  settings: StreamSettings,
  log: Log,
): Promise<void> {
  const { name } = definition
  const { config } = await manager.streams.info(name)
  await applySubjects(manager, definition, config)
  const wanted = { ...configOf(settings), ...consumersOf(definition, config) }
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
        if (isNotClustered(error)) throw refusedOf(`the stream ${name} can't be changed`, error, settings)
        refused(member, value, error.message)
      })
  }
}

/** Gives a stream that exists the subjects of users, or removes them from it: they are where the topic is divided. */
async function applySubjects(
  manager: JetStreamManager,
  { name, subjects }: StreamDefinition,
  config: StreamConfig,
): Promise<void> {
  const [needed = ''] = subjects
  const takes = (subject: string) => config.subjects.some((pattern) => matchesSubject(pattern, subject))
  if (!takes(needed))
    throw new UnfitSettings(`the stream ${name} takes the subjects ${config.subjects.join(', ')}, and not ${needed}`)
  const missing = subjects.filter((subject) => !takes(subject))
  const kept = config.subjects.filter((subject) => subject !== userSubjects || subjects.includes(userSubjects))
  if (missing.length > 0 || kept.length < config.subjects.length)
    await manager.streams.update(name, { subjects: [...kept, ...missing] })
}

/** What a stream has to be changed by to have consumers enough. */
function consumersOf({ maxConsumers = 0 }: StreamDefinition, { max_consumers: is }: StreamConfig) {
  return maxConsumers > Math.max(0, is) ? { max_consumers: maxConsumers } : {}
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
