import { type Clock, type Log, StartError } from '@gatehouse/kit'
import type { IdentityDeclarations } from '../config/options.ts'
import type { OrganizationDeclaration, OrganizationRoleDeclaration } from '../config/organizations.ts'
import { revocationTimes } from '../model/grants/revocation-times.ts'
import { type OrganizationRole, organizationOwner } from '../model/organization.ts'
import { checkPermission } from '../oauth/scope.ts'
import type { DeclarationEntry, DeclaredOrganization, IdentityStore } from '../store/index.ts'

interface SeedContext {
  readonly store: Pick<IdentityStore, 'declarations'>
  readonly clock: Clock
  readonly log: Log
}

type Declared = Pick<IdentityDeclarations, 'organizations' | 'organizationRoles'>

/**
 * Applies the declared roles of all organizations, and then the organizations with their members. Customers choose the
 * keys of their own roles, so a declared role whose key one of them has stops no start: it waits, as do new organizations
 * with members who shall have it, and the log says so. One that exists is applied without it, and gets it alone once the
 * role is applied; the log names it while a member waits. Returns the ids of the organizations that wait.
 */
export async function applyOrganizations(
  { store, clock, log }: SeedContext,
  { organizations = [], organizationRoles = [] }: Declared,
): Promise<ReadonlySet<string>> {
  const conflicts = await store.declarations.applyOrganizationRoles(organizationRoles.map(roleEntry), clock.now())
  for (const { key, organizationIds } of conflicts)
    log.error(
      { role: key, organizations: organizationIds },
      'a declared role was not applied: these organizations have a role of their own with its key; delete those and restart, or declare another key',
    )
  const end = revocationTimes({ clock })
  const waiting = new Set(conflicts.map(({ key }) => key))
  const affected = organizations.filter(({ members = [] }) =>
    members.some(({ roles }) => roles.some((key) => waiting.has(key))),
  )
  const entries = organizations.map((entry) => organizationEntry(entry, waiting, end.now))
  const { skipped, incomplete } = await store.declarations.applyOrganizations(entries, end)
  for (const { id: organization } of affected) {
    if (skipped.includes(organization))
      log.error(
        { organization },
        'a declared organization was not applied, nor its connection: a member has a declared role that was not',
      )
    else if (incomplete.includes(organization))
      log.error({ organization }, 'members of a declared organization wait for declared roles that were not applied')
  }
  return new Set(skipped)
}

function roleEntry(entry: OrganizationRoleDeclaration): DeclarationEntry<OrganizationRole> {
  const { key, name = key, permissions } = entry
  return { id: key, entry, record: async () => ({ organizationId: undefined, key, name, permissions }) }
}

/** Compared as the file has it: that a role begins or ceases to wait overwrites no later changes. */
function organizationEntry(
  entry: OrganizationDeclaration,
  waiting: ReadonlySet<string>,
  now: number,
): DeclarationEntry<DeclaredOrganization> {
  const { id, name = id, status = 'active', require_mfa: requireMfa = false, members = [] } = entry
  const organization = { id, name, status, requireMfa, createdAt: now, updatedAt: now }
  const declared = members.map(({ user_id, roles }) => ({
    userId: user_id,
    roles: roles.filter((key) => !waiting.has(key)),
    waitingRoles: roles.filter((key) => waiting.has(key)),
  }))
  return { id, entry, record: async () => ({ organization, members: declared }) }
}

/** @throws StartError naming every invalid declaration */
export function requireNoOrganizationFaults({ organizations = [], organizationRoles: roles = [] }: Declared): void {
  const faults = [
    ...roles.flatMap(findRoleFaults),
    ...repeated(roles.map(({ key }) => key)).map((key) => `organization role ${key} is declared twice`),
    ...repeated(organizations.map(({ id }) => id)).map((id) => `organization ${id} is declared twice`),
  ]
  if (faults.length > 0) throw new StartError(faults.join('\n'))
}

function findRoleFaults({ key, permissions }: OrganizationRoleDeclaration): string[] {
  const wrong = permissions.map((permission, index) => ({ index, detail: checkPermission(permission) }))
  const named = wrong.filter(({ detail }) => detail !== undefined)
  return [
    ...(key === organizationOwner ? [`organization role ${key} is fixed`] : []),
    ...named.map(({ index, detail }) => `organization role ${key}: permissions.${index} ${detail}`),
  ]
}

function repeated(ids: readonly string[]): string[] {
  return ids.filter((id, index) => ids.indexOf(id) !== index)
}
