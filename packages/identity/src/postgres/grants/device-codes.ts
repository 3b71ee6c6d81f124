import type { Database } from '@gatehouse/kit'
import type { RefreshFamily } from '../../model/grants/grant.ts'
import type { DeviceCodes, DeviceDecision, DeviceRequest } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { type DeviceCodeRow, queries, runStatement } from '../queries.ts'
import { orUndefined } from '../rows.ts'
import { lockSession } from '../sessions.ts'
import { insertRefreshFamily } from './authorization-codes.ts'
import { insertGrant, lockMembership } from './grants.ts'

const columns = `d.hash, d.user_code_hash, d.client_id, d.scopes, d.resources, d.state, d.claimed_by, d.grant_id, d.interval_ms,
  d.polled_at, d.address, d.user_agent, d.organization_id, d.created_at, d.expires_at`

/** Device requests in `identity.device_code`. */
export class PostgresDeviceCodes implements DeviceCodes {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async open(request: DeviceRequest): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `INSERT INTO identity.device_code (hash, user_code_hash, client_id, scopes, resources, state, interval_ms, address, user_agent, organization_id, created_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
      [
        request.hash,
        request.userCodeHash,
        request.clientId,
        request.scopes,
        request.resources,
        request.intervalMs,
        request.address,
        request.userAgent,
        request.organizationId ?? null,
        request.createdAt,
        request.expiresAt,
      ],
    )
    return rowCount === 1
  }

  async poll(hash: string, now: number, slowDownMs: number): Promise<DeviceRequest | undefined> {
    const { rows } = await runStatement(this.#database, queries.pollDeviceCode, [hash, now, slowDownMs])
    return rows[0] && requestOf(rows[0])
  }

  async claim(userCodeHash: string, sessionId: string, now: number): Promise<DeviceRequest | undefined> {
    const { rows } = await this.#database.query<DeviceCodeRow>(
      `UPDATE identity.device_code d SET claimed_by = $2
       WHERE user_code_hash = $1 AND state = 'pending' AND expires_at > $3 AND (claimed_by IS NULL OR claimed_by = $2)
       RETURNING ${columns}`,
      [userCodeHash, sessionId, now],
    )
    return rows[0] && requestOf(rows[0])
  }

  async find(hash: string): Promise<DeviceRequest | undefined> {
    const text = `SELECT ${columns} FROM identity.device_code d WHERE hash = $1 OR user_code_hash = $1`
    const { rows } = await this.#database.query<DeviceCodeRow>(text, [hash])
    return rows[0] && requestOf(rows[0])
  }

  decide({ hash, sessionId, grant, messages }: DeviceDecision, now: number): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      if (!(await lockSession(tx, sessionId))) return false
      if (grant !== undefined && !(await lockMembership(tx, grant))) return false
      if (grant !== undefined) await insertGrant(tx, grant)
      const { rowCount } = await tx.query(
        `UPDATE identity.device_code SET state = $3, grant_id = $4
         WHERE hash = $1 AND claimed_by = $2 AND state = 'pending' AND expires_at > $5`,
        [hash, sessionId, grant === undefined ? 'denied' : 'approved', grant?.id ?? null, now],
      )
      if (rowCount === 0 && grant !== undefined)
        await tx.query('DELETE FROM identity.grant_record WHERE id = $1', [grant.id])
      if (rowCount === 1) await putMessages(tx, messages)
      return rowCount === 1
    })
  }

  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `UPDATE identity.device_code d SET state = 'consumed' FROM identity.grant_record g
         WHERE d.hash = $1 AND d.state = 'approved' AND d.expires_at > $2 AND g.id = d.grant_id AND g.revoked_at IS NULL`,
        [hash, now],
      )
      if (rowCount === 1 && family !== undefined) await insertRefreshFamily(tx, family)
      return rowCount === 1
    })
  }
}

function requestOf(row: DeviceCodeRow): DeviceRequest {
  return {
    hash: row.hash,
    userCodeHash: row.user_code_hash,
    clientId: row.client_id,
    scopes: row.scopes,
    resources: row.resources,
    state: row.state,
    claimedBy: orUndefined(row.claimed_by),
    grantId: orUndefined(row.grant_id),
    intervalMs: row.interval_ms,
    polledAt: orUndefined(row.polled_at),
    address: row.address,
    userAgent: row.user_agent,
    organizationId: orUndefined(row.organization_id),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
