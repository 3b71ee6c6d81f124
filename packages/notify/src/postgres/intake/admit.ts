import { setTimeout as pause } from 'node:timers/promises'
import { type Database, Problem } from '@gatehouse/kit'
import { type Admission, type AdmissionDecision, type AdmissionState, UserErased } from '../../admission/admission.ts'
import type { Counters } from '../../admission/caps.ts'
import type { AdmissionUnit, PlannedNotification } from '../../admission/planned.ts'
import { bucketOfId, newId } from '../../model/id.ts'
import type { Profile, Profiles } from '../../store/store.ts'
import { queries } from '../queries/index.ts'
import { isConflict, runAtOnce, type Statement } from '../sql/at-once.ts'
import { type BucketScope, type Buckets, bucketsOfIds, groupByBucket, scopeOf, textFor } from '../sql/buckets.ts'
import { columns } from '../sql/columns.ts'
import type { StreamOptions } from '../timeline/outbox.ts'
import { checkOriginals } from './originals.ts'
import { type BatchUser, readState, type UserState, usersOf } from './read-state.ts'
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
  buckets: Buckets,
  { units, admission, streaming }: Batch,
): Promise<Array<readonly AdmissionDecision[] | undefined>> {
  const [group, ...others] = groupByBucket(buckets, units, bucketOfUnit)
  if (others.length > 0) throw new Error('a batch to be admitted is of several buckets, which are distributed')
  return group ? admitTogether(database, group.scope, { units, admission, streaming }) : []
}

function bucketOfUnit({ notifications: [first], settles }: AdmissionUnit, count: number): number {
  const id = first?.id ?? settles?.id
  return id === undefined ? 0 : bucketOfId(id, count)
}

async function admitTogether(
  database: Database,
  scope: BucketScope,
  { units, admission, streaming }: Batch,
): Promise<Array<readonly AdmissionDecision[] | undefined>> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    if (attempt > attemptsWithoutPause) await pause(Math.random() * pauseMs * attempt)
    const standing = await readState(database, scope, units, admission.now)
    const going = units.filter((_, index) => standing.pending[index])
    refuseErased(going, standing, admission.profiles)
    const decided = admission.decide(
      going.flatMap(({ notifications }) => notifications),
      standing,
    )
    if (going.length === 0 || (await write(database, scope, { going, decided, standing, admission, streaming })))
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
  scope: BucketScope,
  { going, decided, standing, admission: { profiles, now, leases }, streaming }: PendingWrite,
): Promise<boolean> {
  const leased = leases?.reserve(decided)
  const users = usersOfUnits(going)
  const stillKnown = stillKnownCheck(scope, users, profiles)
  const statements = [
    ...claimUsers(scope, users, standing),
    ...stillKnown,
    ...checkOriginals(scope, going),
    ...settle(scope, going, now),
    ...writeAdmitted(scope, decided, now, { streaming, leased, leaseMs: leases?.leaseMs }),
  ]
  try {
    const refusing = await runAtOnce(database, statements, scope)
    if (refusing && stillKnown.includes(refusing)) throw new UserErased()
    if (refusing && leased) leases?.cancel(leased)
    return refusing === undefined
  } catch (error) {
    if (leased) leases?.cancel(leased)
    if (isConflict(error)) return false
    throw error
  }
}

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

const usersOfUnits = (units: readonly AdmissionUnit[]) => usersOf(units.flatMap(({ notifications }) => notifications))

/** A user whose row was there when the profile was read, and is gone or another's now, was erased in between. */
function refuseErased(
  units: readonly AdmissionUnit[],
  { users }: UserState,
  profiles: ReadonlyMap<string, Profile> | undefined,
): void {
  for (const { userId } of units.flatMap(({ notifications }) => notifications)) {
    const generation = profiles?.get(userId)?.generation
    if (generation !== undefined && users.get(userId)?.generation !== generation) throw new UserErased()
  }
}

/** Of the users planned on what is known of them, before they had a row that erasure could take: it is known still. */
function stillKnownCheck(
  scope: BucketScope,
  batchUsers: readonly BatchUser[],
  profiles: ReadonlyMap<string, Profile> | undefined,
): Statement[] {
  const users = batchUsers.filter(({ userId }) => {
    const profile = profiles?.get(userId)
    return profile?.generation === undefined && (profile?.recipient || (profile?.devices.length ?? 0) > 0)
  })
  if (users.length === 0) return []
  const ofUser = 'WHERE k.bucket = u.bucket AND k.user_id = u.user_id LIMIT 1'
  const text = `SELECT count(*) = $3::integer FROM unnest($1::smallint[], $2::text[]) AS u (bucket, user_id)
                 CROSS JOIN LATERAL (
                   (SELECT FROM notify.recipient k ${ofUser}) UNION ALL (SELECT FROM notify.device k ${ofUser}) LIMIT 1) AS found`
  const ids = users.map(({ userId }) => userId)
  const values = [bucketsOfIds(scope, users, ({ id }) => id), ids, users.length]
  return [{ precondition: true, text: textFor(scope, text), values }]
}

/**
 * Locks the users in their order, the new ones first, and marks that their log is being written: the guards hold if
 * nobody wrote it since it was read.
 */
function claimUsers(
  scope: BucketScope,
  users: readonly BatchUser[],
  { users: known, counters }: UserState,
): Statement[] {
  const version = newId(0)
  const { true: old = [], false: fresh = [] } = Object.groupBy(users, ({ userId }) => `${known.has(userId)}`)
  const written = ({ userId }: BatchUser) => JSON.stringify(counters.get(userId) ?? ({} satisfies Counters))
  return [
    ...(fresh.length > 0 ? [addUsers(scope, fresh, written, version)] : []),
    ...(old.length > 0 ? [updateUsers(scope, old, { known, written, version })] : []),
  ]
}

type WrittenCounters = (user: BatchUser) => string

function addUsers(
  scope: BucketScope,
  users: readonly BatchUser[],
  written: WrittenCounters,
  version: string,
): Statement {
  return {
    precondition: true,
    text: textFor(
      scope,
      `WITH added AS (
         INSERT INTO notify.cap (bucket, user_id, counters, generation, version)
         SELECT u.bucket, u.user_id, u.counters::jsonb, $4::uuid, $4::uuid
           FROM unnest($1::smallint[], $2::text[], $3::text[]) WITH ORDINALITY
                AS u (bucket, user_id, counters, place) ORDER BY u.place
         ON CONFLICT (bucket, user_id) DO NOTHING RETURNING 1
       ) SELECT count(*) = $5::integer FROM added`,
    ),
    values: [
      bucketsOfIds(scope, users, ({ id }) => id),
      ...columns(users, ({ userId }) => userId, written),
      version,
      users.length,
    ],
  }
}

interface UserUpdate {
  readonly known: UserState['users']
  readonly written: WrittenCounters
  readonly version: string
}

function updateUsers(
  scope: BucketScope,
  users: readonly BatchUser[],
  { known, written, version }: UserUpdate,
): Statement {
  return {
    precondition: true,
    text: textFor(scope, queries['intake/update-users']),
    values: [
      bucketsOfIds(scope, users, ({ id }) => id),
      ...columns(
        users,
        ({ userId }) => userId,
        written,
        ({ userId }) => known.get(userId)?.version,
      ),
      version,
      users.length,
    ],
  }
}

/** What `decide` needs to know for one notification, as it stands. */
export function readAdmissionState(
  database: Database,
  buckets: Buckets,
  notification: PlannedNotification,
): Promise<AdmissionState> {
  const scope = scopeOf(buckets, bucketOfId(notification.id, buckets.count))
  return readState(database, scope, [{ notifications: [notification] }], notification.acceptedAt)
}
