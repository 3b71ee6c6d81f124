import { setTimeout as pause } from 'node:timers/promises'
import { type Database, Problem, sqlState } from '@gatehouse/kit'
import { type Admission, type AdmissionDecision, type AdmissionState, UserErased } from '../../admission/admission.ts'
import type { Counters } from '../../admission/caps.ts'
import type { AdmissionUnit, PlannedNotification } from '../../admission/planned.ts'
import { newId } from '../../model/id.ts'
import type { Profile, Profiles } from '../../store/store.ts'
import { queries } from '../queries/index.ts'
import { runAtOnce, type Statement } from '../sql/at-once.ts'
import { columns } from '../sql/columns.ts'
import type { StreamOptions } from '../timeline/outbox.ts'
import { readState, type UserState } from './read-state.ts'
import { settle } from './settle.ts'
import { writeAdmitted } from './write-admitted.ts'

/** With so many processes that admit for one user at once, the last of them gets its turn. */
const maxAttempts = 24
/** Whom a conflict hits has waited for its winner already, and goes on at once; only those that lose again step back. */
const attemptsWithoutPause = 3
const pauseMs = 3

interface Batch extends StreamOptions {
  readonly units: readonly AdmissionUnit[]
  readonly admission: Admission<Profiles['users']>
}

/**
 * Admission: reads the users and their log without a lock, decides the batch, and writes all it comes to on one message,
 * if no user's version has changed since; else it decides again on what is then. Whoever writes a user's log changes their
 * version, so nothing can slip between the reading and the writing, and no lock is pending while a client is awaited.
 *
 * @throws UserErased when a user was erased since the units were planned
 * @throws Problem 503 when others were faster every time
 */
export async function admit(
  database: Database,
  bucket: number,
  { units, admission, streaming }: Batch,
): Promise<Array<readonly AdmissionDecision[] | undefined>> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    if (attempt > attemptsWithoutPause) await pause(Math.random() * pauseMs * attempt)
    const standing = await readState(database, bucket, units)
    const going = units.filter((_, index) => standing.pending[index])
    refuseErased(going, standing, admission.profiles)
    const decided = admission.decide(
      going.flatMap(({ notifications }) => notifications),
      standing,
    )
    if (going.length === 0 || (await write(database, bucket, { going, decided, standing, admission, streaming })))
      return answersOf(units, standing.pending, decided)
  }
  throw new Problem(503, 'Too much is accepted for the same users at once; try again in a second.', {
    headers: { 'retry-after': '1' },
  })
}

interface PendingWrite {
  readonly going: readonly AdmissionUnit[]
  readonly decided: readonly AdmissionDecision[]
  /** Its counters are those after the decision. */
  readonly standing: UserState
  readonly admission: Admission<Profiles['users']>
  readonly streaming: boolean
}

/** Writes a decision; false when it does not stand any more. */
async function write(
  database: Database,
  bucket: number,
  { going, decided, standing, admission: { profiles, now, leases }, streaming }: PendingWrite,
): Promise<boolean> {
  const leased = leases?.reserve(decided)
  const stillKnown = stillKnownCheck(bucket, going, profiles)
  const statements = [
    ...claimUsers(bucket, usersOf(going), standing),
    ...stillKnown,
    ...settle(bucket, going, now),
    ...writeAdmitted(bucket, decided, now, { streaming, leased, leaseMs: leases?.leaseMs }),
  ]
  try {
    const refusing = await runAtOnce(database, statements)
    if (refusing && stillKnown.includes(refusing)) throw new UserErased()
    if (refusing && leased) leases?.cancel(leased)
    return refusing === undefined
  } catch (error) {
    if (leased) leases?.cancel(leased)
    if (conflicts.has(sqlState(error) ?? '')) return false
    throw error
  }
}

/** SQLSTATEs of a serialization failure and of a deadlock. */
const conflicts: ReadonlySet<string> = new Set(['40001', '40P01'])

function answersOf(
  units: readonly AdmissionUnit[],
  pending: readonly boolean[],
  decided: readonly AdmissionDecision[],
): Array<readonly AdmissionDecision[] | undefined> {
  let next = 0
  return units.map((unit, index) => {
    if (!pending[index]) return undefined
    const mine = decided.slice(next, next + unit.notifications.length)
    next += unit.notifications.length
    return mine
  })
}

function usersOf(units: readonly AdmissionUnit[]): string[] {
  const users = units.flatMap((unit) => unit.notifications.map(({ userId }) => userId))
  return [...new Set(users)].sort()
}

/** A user whose row was there when the profile was read, and is gone or another's now, was erased in between. */
function refuseErased(
  units: readonly AdmissionUnit[],
  { users }: UserState,
  profiles: ReadonlyMap<string, Profile> | undefined,
): void {
  for (const user of usersOf(units)) {
    const generation = profiles?.get(user)?.generation
    if (generation !== undefined && users.get(user)?.generation !== generation) throw new UserErased()
  }
}

/** Of the users planned on what is known of them, before they had a row that erasure could take: it is known still. */
function stillKnownCheck(
  bucket: number,
  units: readonly AdmissionUnit[],
  profiles: ReadonlyMap<string, Profile> | undefined,
): Statement[] {
  const users = usersOf(units).filter((user) => {
    const profile = profiles?.get(user)
    return profile?.generation === undefined && (profile?.recipient || (profile?.devices.length ?? 0) > 0)
  })
  if (users.length === 0) return []
  const ofUser = 'WHERE k.bucket = $1::smallint AND k.user_id = u.user_id LIMIT 1'
  const text = `SELECT count(*) = $3::integer FROM unnest($2::text[]) AS u (user_id)
                 CROSS JOIN LATERAL (
                   (SELECT FROM notify.recipient k ${ofUser}) UNION ALL (SELECT FROM notify.device k ${ofUser}) LIMIT 1) AS found`
  return [{ precondition: true, text, values: [bucket, users, users.length] }]
}

/**
 * Locks the users in their order, the new ones first, and marks that their log is being written: the guards hold if
 * nobody wrote it since it was read.
 */
function claimUsers(bucket: number, users: readonly string[], { users: known, counters }: UserState): Statement[] {
  const version = newId(0)
  const { true: old = [], false: fresh = [] } = Object.groupBy(users, (user) => `${known.has(user)}`)
  const written = (user: string) => JSON.stringify(counters.get(user) ?? ({} satisfies Counters))
  return [
    ...(fresh.length > 0 ? [addUsers(bucket, fresh, written, version)] : []),
    ...(old.length > 0 ? [updateUsers(bucket, old, { known, written, version })] : []),
  ]
}

function addUsers(
  bucket: number,
  users: readonly string[],
  written: (user: string) => string,
  version: string,
): Statement {
  return {
    precondition: true,
    text: `WITH added AS (
             INSERT INTO notify.cap (bucket, user_id, counters, generation, version)
             SELECT $1::smallint, u.user_id, u.counters::jsonb, $4::uuid, $4::uuid
               FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS u (user_id, counters, place) ORDER BY u.place
             ON CONFLICT (bucket, user_id) DO NOTHING RETURNING 1
           ) SELECT count(*) = $5::integer FROM added`,
    values: [bucket, ...columns(users, (user) => user, written), version, users.length],
  }
}

interface UserUpdate {
  readonly known: UserState['users']
  readonly written: (user: string) => string
  readonly version: string
}

function updateUsers(bucket: number, users: readonly string[], { known, written, version }: UserUpdate): Statement {
  return {
    precondition: true,
    text: queries['intake/update-users'],
    values: [
      bucket,
      ...columns(
        users,
        (user) => user,
        written,
        (user) => known.get(user)?.version,
      ),
      version,
      users.length,
    ],
  }
}

/** What `decide` needs to know for one notification, as it stands. */
export function readAdmissionState(
  database: Database,
  bucket: number,
  notification: PlannedNotification,
): Promise<AdmissionState> {
  return readState(database, bucket, [{ notifications: [notification] }])
}
