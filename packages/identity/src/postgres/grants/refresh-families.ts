import { type Batcher, createBatcher, type Database } from '@gatehouse/kit'
import type { Rotation, RotationResult } from '../../model/grants/refresh-rotation.ts'
import type { FamilyWithGrant, RefreshFamilies } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'
import { type GrantRow, userGrantColumns, userGrantOf, userGrantTables } from './grants.ts'
import { rotateFamilies } from './rotate-families.ts'

interface FamilyRow extends GrantRow {
  readonly generation: number
  readonly current_hash: string
  readonly previous_hash: string | null
  readonly successor_sealed: string | null
  readonly rotated_at: number
  readonly family_expires_at: number
  readonly requires_mfa: boolean
}

/** Whether an organization of the grant's user requires a second factor. */
const requiresMfa = `EXISTS (SELECT FROM identity.membership m JOIN identity.organization o ON o.id = m.organization_id
    WHERE m.user_id = g.user_id AND o.require_mfa AND o.status = 'active')`

const find = `SELECT f.generation, f.current_hash, f.previous_hash, f.successor_sealed, f.rotated_at,
    f.expires_at AS family_expires_at, ${requiresMfa} AS requires_mfa, ${userGrantColumns}
  FROM ${userGrantTables} JOIN identity.refresh_family f ON f.grant_id = g.id WHERE f.grant_id = ANY($1::uuid[])`

const batching = { maxBatch: 200, concurrency: 2, maxWaiting: 10_000 }

/** Refresh tokens in `identity.refresh_family`. Concurrent requests are looked up, and rotated, in one statement. */
export class PostgresRefreshFamilies implements RefreshFamilies {
  readonly #database: Database
  readonly #finding: Batcher<string, { readonly found: FamilyWithGrant | undefined }>
  readonly #rotating: Batcher<Rotation, RotationResult>

  constructor(database: Database) {
    this.#database = database
    this.#finding = createBatcher(async (grantIds) => {
      const found = await findTogether(database, grantIds)
      return grantIds.map((grantId) => ({ found: found.get(grantId) }))
    }, batching)
    this.#rotating = createBatcher((rotations) => rotateFamilies(database, rotations), batching)
  }

  async find(grantId: string): Promise<FamilyWithGrant | undefined> {
    return (await this.#finding.add(grantId)).found
  }

  rotate(rotation: Rotation): Promise<RotationResult> {
    return this.#rotating.add(rotation)
  }

  async endOlder(grantId: string, generation: number): Promise<boolean> {
    const text = 'DELETE FROM identity.refresh_family WHERE grant_id = $1 AND generation < $2'
    return (await this.#database.query(text, [grantId, generation])).rowCount > 0
  }
}

async function findTogether(database: Database, grantIds: readonly string[]): Promise<Map<string, FamilyWithGrant>> {
  const values = [[...new Set(grantIds)]]
  const { rows } = await database.query<FamilyRow>({ name: 'identity families', text: find, values })
  return new Map(rows.map((row) => [row.grant_id, familyOf(row)]))
}

function familyOf(row: FamilyRow): FamilyWithGrant {
  return {
    ...userGrantOf(row),
    requiresMfa: row.requires_mfa,
    family: {
      grantId: row.grant_id,
      generation: row.generation,
      currentHash: row.current_hash,
      previousHash: orUndefined(row.previous_hash),
      successorSealed: orUndefined(row.successor_sealed),
      rotatedAt: row.rotated_at,
      expiresAt: row.family_expires_at,
    },
  }
}
