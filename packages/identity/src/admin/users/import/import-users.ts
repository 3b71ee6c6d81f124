import type { ImportedUser } from '../../../config/declarations.ts'
import type { AdminContext } from '../../../context/features.ts'
import { createRecipientMessage } from '../../../mail/messages.ts'
import { checkUserRole } from '../../../model/management-roles.ts'
import { normalizeName } from '../../../model/user.ts'
import { parseHash } from '../../../passwords/formats/index.ts'
import { NameConflict, type NewUser } from '../../../store/index.ts'
import { type Authority, auditChange, requireRoleAuthority } from '../../authority.ts'
import { findPlanFault, type KnownPlans, listKnownPlans, requirePlanAuthority } from '../../limits/plans.ts'

/** What became of one user of an import. `exists`: there is a user with this id, who stays as they are. */
export interface ImportResult {
  readonly id: string
  readonly outcome: 'created' | 'exists' | 'refused'
  /** Why they were refused. It never contains a hash. */
  readonly reason?: string
}

/** The maximum number of users in one import. */
export const maxImportedUsers = 500

/**
 * Creates users of another system, each by itself, with the hashes of their passwords. Nobody is mailed; an address counts
 * as verified only where the export says so.
 *
 * @returns one result for each user, in their order
 * @throws Problem 403 for roles that the caller may not assign, 503
 */
export async function importUsers(
  context: AdminContext,
  by: Authority,
  users: readonly ImportedUser[],
): Promise<ImportResult[]> {
  await requireRoleAuthority(context, by, [], [...new Set(users.flatMap(({ roles = [] }) => roles))])
  for (const { plan } of users) requirePlanAuthority(by, plan)
  const ids = users.map(({ id }) => id)
  await auditChange(context, by, { action: 'users.import', target: { type: 'user', id: '*' }, after: { ids } })
  const results: ImportResult[] = []
  const plans = await listKnownPlans(context)
  for (const user of users) results.push(await importUser(context, user, plans))
  context.signalOutbox()
  return results
}

async function importUser(context: AdminContext, user: ImportedUser, plans: KnownPlans): Promise<ImportResult> {
  const { id } = user
  const reason = findFault(user, plans)
  if (reason !== undefined) return { id, outcome: 'refused', reason }
  const owner = await context.store.subjects.findPlan(id)
  if (owner?.kind === 'user') return { id, outcome: 'exists' }
  if (owner) return { id, outcome: 'refused', reason: `the id belongs to another ${owner.kind}` }
  try {
    const message = createRecipientMessage(context, id)
    await context.store.users.create(newUserOf(user, context.defaultPlan), [message], context.clock.now())
    return { id, outcome: 'created' }
  } catch (error) {
    if (!(error instanceof NameConflict)) throw error
    if (error.member === 'id') return { id, outcome: 'exists' }
    return { id, outcome: 'refused', reason: `the ${error.member} belongs to another user` }
  }
}

function findFault({ password_hash: hash, roles = [], plan }: ImportedUser, plans: KnownPlans): string | undefined {
  const parsed = hash === undefined ? undefined : parseHash(hash)
  if (parsed && 'fault' in parsed) return `password_hash: ${parsed.fault}`
  const role = roles.map(checkUserRole).find((fault) => fault !== undefined)
  if (role !== undefined) return `roles: ${role}`
  const unknown = findPlanFault(plans, plan)
  return unknown === undefined ? undefined : `plan: ${unknown}`
}

function newUserOf(user: ImportedUser, defaultPlan: string): NewUser {
  return {
    id: user.id,
    username: normalizeName(user.username ?? user.id),
    plan: user.plan ?? defaultPlan,
    email: user.email,
    emailVerified: user.email_verified ?? false,
    roles: user.roles ?? [],
    claims: user.claims ?? {},
    passwordHash: user.password_hash,
  }
}
