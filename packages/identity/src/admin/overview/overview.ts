import type { Finding, SetupStep } from '@gatehouse/kit'
import type { AdminContext } from '../../context/features.ts'
import { ownerRole } from '../../model/management-roles.ts'

const dayMs = 86_400_000
/** A key that is older than this is to be replaced, in milliseconds. */
const oldKeyMs = 365 * dayMs
/** How much later than it should a signing key may be replaced, in milliseconds. */
const overdueMs = dayMs
const maxKeys = 200
const maxClients = 200

/** What an operator should look at: overdue signing keys, a single owner, old API keys. */
export async function readFindings(context: AdminContext): Promise<Finding[]> {
  const { store, keys, clock, lifetimes } = context
  const now = clock.now()
  const [owners, apiKeys] = await Promise.all([
    store.users.listByRole(ownerRole, '', 2),
    store.apiKeys.list(undefined, maxKeys),
  ])
  const overdue = keys
    .listActive()
    .filter(({ activatesAt }) => now - activatesAt > lifetimes.signingKey * 1_000 + overdueMs)
    .map(({ alg, activatesAt }): Finding => {
      const since = activatesAt + lifetimes.signingKey * 1_000
      return { code: 'signing_key_overdue', severity: 'error', subject: alg, since }
    })
  const old = apiKeys.filter(({ createdAt, expiresAt }) => expiresAt === undefined && now - createdAt > oldKeyMs)
  return [
    ...overdue,
    ...(owners.length === 1 ? [{ code: 'single_owner', severity: 'info' } as const] : []),
    ...(old.length === 0 ? [] : [{ code: 'api_keys_old', severity: 'warning', count: old.length } as const]),
  ]
}

/** The steps of the setup that this service knows of. `provided` are clients that somebody else's tour declares. */
export async function readSetup(context: AdminContext, provided: ReadonlySet<string>): Promise<SetupStep[]> {
  const { store, builtInClients } = context
  const [clients, owners] = await Promise.all([
    store.clients.list('', maxClients),
    store.users.listByRole(ownerRole, '', 10),
  ])
  const own = clients.filter(({ id }) => !builtInClients.has(id) && !provided.has(id)).map(({ id }) => id)
  const signedIn = await firstSignIn(context)
  return [
    { id: 'own_client', done: own.length > 0, evidence: { clients: own.slice(0, 5), count: own.length } },
    { id: 'sign_in', done: signedIn !== undefined, evidence: signedIn === undefined ? {} : { since: signedIn } },
    { id: 'second_owner', done: owners.length > 1, evidence: { owners: owners.length } },
  ]
}

const hourMs = 3_600_000

async function firstSignIn({ store, history, clock }: AdminContext): Promise<string | undefined> {
  const seen = await store.stats.seen('sign_ins')
  if (seen !== undefined) return new Date(seen.first).toISOString()
  const from = Math.floor(clock.now() / hourMs) * hourMs
  const rows = await history.read({ measure: 'sign_ins', from, to: from + hourMs, stepMs: hourMs })
  return rows.some(({ labels }) => labels.outcome === 'success') ? new Date(from).toISOString() : undefined
}
