import { isDeepStrictEqual } from 'node:util'
import type { Log } from './log.ts'
import { Problem } from './problem.ts'

/** Who changes something through management. */
export interface Actor {
  /** The user, the client itself where a service acts, or `command line`. */
  readonly subject: string
  /** The management role by which a person acts. */
  readonly role?: string | undefined
  readonly clientId?: string | undefined
  /** Where the request came from. */
  readonly address?: string | undefined
  readonly requestId?: string | undefined
}

type Members = Readonly<Record<string, unknown>>

/** A change that is about to be made through management, as the audit trail keeps it. */
export interface ManagementChange {
  readonly service: 'identity' | 'notify' | 'gateway'
  /** What is changed and how, as the operation is named in the API: `templates.update`. */
  readonly action: string
  readonly actor: Actor
  readonly target: { readonly type: string; readonly id: string }
  /** The members that change, as they were and as they will be; secrets are left out. */
  readonly before?: Members
  readonly after?: Members
}

/** Stores a change in the audit trail, in this process or over HTTP. Rejects when it cannot be stored. */
export type RecordChange = (change: ManagementChange) => Promise<void>

/** Writes the audit trail to the log, for a program without an identity service. */
export function changesInLog(log: Log): RecordChange {
  return async (change) => {
    log.info({ audit: change }, 'management change')
  }
}

/**
 * Records a change before it is made: a change that cannot be audited is not made.
 *
 * @throws Problem 503 when the audit trail cannot be written
 */
export async function recordChange(record: RecordChange, change: ManagementChange): Promise<void> {
  try {
    await record(change)
  } catch (cause) {
    const detail = 'The change was not made, because it could not be recorded in the audit trail.'
    throw new Problem(503, detail, { headers: { 'retry-after': '5' }, cause })
  }
}

/** The members in which two records differ, without those that are secret. `undefined` and absent are the same. */
export function changedMembers(
  before: Members,
  after: Members,
  secrets: readonly string[] = [],
): { readonly before: Members; readonly after: Members } {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !secrets.includes(name) && !isDeepStrictEqual(before[name], after[name]),
  )
  const pick = (members: Members) =>
    Object.fromEntries(names.filter((name) => members[name] !== undefined).map((name) => [name, members[name]]))
  return { before: pick(before), after: pick(after) }
}
