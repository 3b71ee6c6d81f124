import { applyDeclared, type Database, type Transaction } from '@gatehouse/kit'
import type { RevocationTimes } from '../../model/grants/revocation-times.ts'
import type { OrganizationRole } from '../../model/organization.ts'
import type {
  DeclarationEntry,
  DeclarationStore,
  DeclaredOrganization,
  NewClient,
  NewConnection,
  NewUser,
  OutboxMessage,
  RoleConflict,
  SignOutOptions,
  WaitingOrganizations,
  WriteResult,
} from '../../store/index.ts'
import { writeClient } from '../clients.ts'
import { writeConnection } from '../federation/connections.ts'
import { declareOrganization } from '../organizations/declare-organization.ts'
import { listOwnersOfRole, protectPermissions, putRole } from '../organizations/roles.ts'
import { queries, runStatement } from '../queries.ts'
import { setPassword } from '../users/accounts.ts'
import { revokeTokensOfRoles, writeUser } from '../users/users.ts'
import { putMessages } from './outbox.ts'

/** Applies declarations, with checksums in `identity.declared`. */
export class PostgresDeclarations implements DeclarationStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  applyClients(entries: readonly DeclarationEntry<NewClient>[], now: number): Promise<Map<string, WriteResult>> {
    return this.#apply('client', entries, async (tx, { record }) => writeClient(tx, await record(), now))
  }

  applyConnections(
    entries: readonly DeclarationEntry<NewConnection>[],
    now: number,
  ): Promise<Map<string, WriteResult>> {
    return this.#apply('connection', entries, async (tx, { record }) => writeConnection(tx, await record(), now))
  }

  applyUsers(
    entries: readonly DeclarationEntry<NewUser>[],
    createMessage: (userId: string) => OutboxMessage,
    options: () => SignOutOptions,
  ): Promise<Map<string, WriteResult>> {
    return this.#apply('user', entries, async (tx, { id, record }) => {
      const text = 'SELECT password_hash, roles FROM identity.account WHERE id = $1 FOR UPDATE'
      const { rows } = await tx.query<{ password_hash: string | null; roles: string[] }>(text, [id])
      const user = await record(rows[0]?.password_hash ?? undefined)
      const end = options()
      const written = await writeUser(tx, user, end.now)
      const changed = written === 'updated' ? user.passwordHash : undefined
      if (changed !== undefined) await setPassword(tx, { userId: id, hash: changed, endApiKeys: true }, end)
      await putMessages(tx, [createMessage(id)])
      await revokeTokensOfRoles(tx, user, rows[0]?.roles ?? [], options)
      return written
    })
  }

  async applyOrganizationRoles(
    entries: readonly DeclarationEntry<OrganizationRole>[],
    now: number,
  ): Promise<RoleConflict[]> {
    const conflicts = new Map<string, RoleConflict>()
    await this.#apply('organization_role', entries, async (tx, { id: key, record }) => {
      const role = await record()
      const result = await putRole(tx, role, now)
      if (result === 'created' || result === 'updated') return result
      // The role waits, but nobody gets meanwhile what it shall be needed for.
      await protectPermissions(tx, role)
      conflicts.set(key, { key, organizationIds: await listOwnersOfRole(tx, key) })
      return 'waits'
    })
    return [...conflicts.values()]
  }

  async applyOrganizations(
    entries: readonly DeclarationEntry<DeclaredOrganization>[],
    end: RevocationTimes,
  ): Promise<WaitingOrganizations> {
    const skipped = new Set<string>()
    await this.#apply('organization', entries, async (tx, { id, record }) => {
      const declared = await record()
      const written = await declareOrganization(tx, declared, end)
      if (written === 'waits') skipped.add(id)
      return written
    })
    const ids = entries.map(({ id }) => id)
    await runStatement(this.#database, queries.addWaitingRoles, [ids])
    const { rows } = await this.#database.query<{ id: string }>(
      `SELECT DISTINCT organization_id AS id FROM identity.membership
       WHERE organization_id = ANY($1::text[]) AND waiting_roles <> '{}'`,
      [ids],
    )
    return { skipped: [...skipped], incomplete: rows.map(({ id }) => id) }
  }

  /** Writes entries that are new or changed. One that waits is new at the next start again. */
  async #apply<Record>(
    kind: string,
    entries: readonly DeclarationEntry<Record>[],
    write: (tx: Transaction, entry: DeclarationEntry<Record>) => Promise<WriteResult | 'waits'>,
  ): Promise<Map<string, WriteResult>> {
    const written = new Map<string, WriteResult>()
    const byId = new Map(entries.map((entry) => [entry.id, entry]))
    const declarations = entries.map(({ id, entry, previousEntries: formerly }) => ({ id, entry, formerly }))
    await applyDeclared(this.#database, { schema: 'identity', kind }, declarations, async (tx, id) => {
      const entry = byId.get(id)
      const result = entry && (await write(tx, entry))
      if (result === 'waits')
        await tx.query(`UPDATE identity.declared SET checksum = '' WHERE kind = $1 AND id = $2`, [kind, id])
      else if (result !== undefined) written.set(id, result)
    })
    return written
  }
}
