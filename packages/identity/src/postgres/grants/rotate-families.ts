import type { Database } from '@gatehouse/kit'
import type { Rotation, RotationResult } from '../../store/index.ts'

/** A family as it was when its lock was taken. */
interface LockedRow {
  readonly grant_id: string
  readonly generation: number
  readonly current_hash: string
  readonly previous_hash: string | null
  readonly successor_sealed: string | null
  readonly rotated_at: number
  readonly rotated: boolean
}

/**
 * Takes the lock of each family whose grant is not revoked, in one order everywhere, and rotates those whose current
 * token was presented. A revocation deletes the family, so that the lock is enough: whoever comes second sees the first.
 */
const rotate = `WITH requested AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
      AS requested (grant_id, hash, generation, next_hash, successor, now, expires_at)
  ), locked AS (
    SELECT f.grant_id, f.generation, f.current_hash, f.previous_hash, f.successor_sealed, f.rotated_at
    FROM requested JOIN identity.refresh_family f ON f.grant_id = requested.grant_id JOIN identity.grant_record g ON g.id = f.grant_id
    WHERE g.revoked_at IS NULL AND f.expires_at > requested.now
    ORDER BY f.grant_id FOR UPDATE OF f
  ), rotated AS (
    UPDATE identity.refresh_family f SET generation = requested.generation, current_hash = requested.next_hash, previous_hash = requested.hash,
      successor_sealed = requested.successor, rotated_at = requested.now, expires_at = requested.expires_at
    FROM requested JOIN locked USING (grant_id)
    WHERE f.grant_id = requested.grant_id AND locked.current_hash = requested.hash AND f.current_hash = requested.hash
    RETURNING f.grant_id
  )
  SELECT locked.*, rotated.grant_id IS NOT NULL AS rotated FROM locked LEFT JOIN rotated USING (grant_id)`

/**
 * Rotates many, each answered apart. Of several uses of one family's tokens the first goes first; the others are answered
 * by what it left behind.
 */
export async function rotateTogether(database: Database, rotations: readonly Rotation[]): Promise<RotationResult[]> {
  const answers = new Map<Rotation, RotationResult>()
  for (let left = rotations; left.length > 0; left = left.filter((one) => !answers.has(one))) {
    const ofGrants = [...Map.groupBy(left, ({ next }) => next.grantId).values()]
    const locked = await rotateEach(
      database,
      ofGrants.flatMap((same) => same.slice(0, 1)),
    )
    for (const [first, ...others] of ofGrants) {
      if (first === undefined) continue
      const family = locked.get(first.next.grantId)
      answers.set(first, outcomeOf(first, family))
      const after = family?.rotated ? { ...family, ...rowOf(first) } : family
      for (const one of others) if (one.hash !== after?.current_hash) answers.set(one, outcomeOf(one, after))
    }
  }
  return rotations.map((rotation) => answers.get(rotation) ?? { outcome: 'ended' })
}

/** The family as a rotation leaves it. */
function rowOf({ hash, next }: Rotation): Partial<LockedRow> {
  return {
    generation: next.generation,
    current_hash: next.currentHash,
    previous_hash: hash,
    successor_sealed: next.successorSealed ?? null,
    rotated_at: next.rotatedAt,
    rotated: false,
  }
}

async function rotateEach(database: Database, rotations: readonly Rotation[]): Promise<Map<string, LockedRow>> {
  const values = [
    rotations.map(({ next }) => next.grantId),
    rotations.map(({ hash }) => hash),
    rotations.map(({ next }) => next.generation),
    rotations.map(({ next }) => next.currentHash),
    rotations.map(({ next }) => next.successorSealed ?? null),
    rotations.map(({ next }) => next.rotatedAt),
    rotations.map(({ next }) => next.expiresAt),
  ]
  const [rotated] = await database.pipeline<LockedRow>([{ name: 'identity rotate', text: rotate, values }])
  return new Map(rotated?.rows.map((row) => [row.grant_id, row]))
}

function outcomeOf({ hash, graceSince }: Rotation, locked: LockedRow | undefined): RotationResult {
  if (locked === undefined) return { outcome: 'ended' }
  if (locked.rotated) return { outcome: 'rotated' }
  if (hash === locked.previous_hash && locked.rotated_at > graceSince && locked.successor_sealed !== null) {
    return { outcome: 'repeated', successorSealed: locked.successor_sealed }
  }
  return { outcome: 'reused', generation: locked.generation }
}
