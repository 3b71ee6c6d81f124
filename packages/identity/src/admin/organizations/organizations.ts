import { randomUUIDv7 } from 'node:crypto'
import { changedMembers, entityTagOf, Problem, preconditionFailed, requireMatch } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { NewOrganization, OrganizationPatch } from '../../config/organizations.ts'
import type { AdminContext } from '../../context/features.ts'
import { createMembersMessage } from '../../mail/member-notices.ts'
import { revocationTimes } from '../../model/grants/revocation-times.ts'
import type { Organization } from '../../model/organization.ts'
import type { Authority } from '../authority.ts'
import { auditOrganization, type OrganizationCaller, requireOrganization, throwNotFound } from './caller.ts'
import type { membershipSchema, organizationSchema } from './schemas.ts'

/** An organization as the API returns it. */
export type OrganizationResponse = Static<typeof organizationSchema>

function formatOrganization(organization: Organization): OrganizationResponse {
  return {
    id: organization.id,
    ...auditedMembers(organization),
    created_at: new Date(organization.createdAt).toISOString(),
    updated_at: new Date(organization.updatedAt).toISOString(),
  }
}

function auditedMembers({ name, status, requireMfa }: Pick<Organization, 'name' | 'status' | 'requireMfa'>) {
  return { name, status, require_mfa: requireMfa }
}

/** Lists organizations in the order of their ids. */
export async function listOrganizations(
  { store }: AdminContext,
  after: string,
  limit: number,
): Promise<OrganizationResponse[]> {
  return (await store.organizations.list(after, limit)).map(formatOrganization)
}

/** @throws Problem 404 */
export async function readOrganization(
  context: AdminContext,
  caller: Pick<OrganizationCaller, 'organizationId'>,
): Promise<OrganizationResponse> {
  return formatOrganization(await requireOrganization(context, caller))
}

/** Creates an organization without members. @throws Problem 409, 503 */
export async function createOrganization(
  context: AdminContext,
  by: Authority,
  declaration: NewOrganization,
): Promise<OrganizationResponse> {
  const { id = randomUUIDv7(), name = id, status = 'active', require_mfa: requireMfa = false } = declaration
  const now = context.clock.now()
  const inUse = () => new Problem(409, `There is already an organization with the id ${id}.`)
  if ((await context.store.organizations.find(id)) !== undefined) throw inUse()
  const organization = { id, name, status, requireMfa, createdAt: now, updatedAt: now }
  const caller = { by, organizationId: id }
  await auditOrganization(context, caller, { action: 'organizations.create', after: auditedMembers(organization) })
  if (!(await context.store.organizations.create(organization))) throw inUse()
  return readOrganization(context, caller)
}

/** A change of an organization. */
export interface OrganizationChange extends OrganizationPatch {
  /** The header If-Match: the organization is changed only if it is as it was read. */
  readonly ifMatch?: string | undefined
}

/** Updates an organization. Suspending it ends every grant in it. @throws Problem 404, 412, 503 */
export async function updateOrganization(
  context: AdminContext,
  caller: OrganizationCaller,
  { ifMatch, name, status, require_mfa: requireMfa }: OrganizationChange,
): Promise<OrganizationResponse> {
  const before = await requireOrganization(context, caller)
  requireMatch(ifMatch, entityTagOf(formatOrganization(before)))
  const patch = {
    ...(name === undefined ? {} : { name }),
    ...(status === undefined ? {} : { status }),
    ...(requireMfa === undefined ? {} : { requireMfa }),
  }
  const changes = changedMembers(auditedMembers(before), auditedMembers({ ...before, ...patch }))
  await auditOrganization(context, caller, { action: 'organizations.update', ...changes })
  const messages = requireMfa ? createMembersMessage(context, before.id) : []
  const condition = { messages, expected: ifMatch === undefined ? undefined : before }
  const result = await context.store.organizations.update(before.id, patch, revocationTimes(context), condition)
  if (result === 'missing') throwNotFound('organization')
  if (result === 'outdated') throw preconditionFailed(entityTagOf(await readOrganization(context, caller)))
  if (messages.length > 0) context.signalOutbox()
  return readOrganization(context, caller)
}

/** Deletes an organization with all that is in it, and ends every grant in it. @throws Problem 404, 412, 503 */
export async function deleteOrganization(
  context: AdminContext,
  caller: OrganizationCaller,
  ifMatch?: string,
): Promise<void> {
  const found = await requireOrganization(context, caller)
  requireMatch(ifMatch, entityTagOf(formatOrganization(found)))
  await auditOrganization(context, caller, { action: 'organizations.delete', before: auditedMembers(found) })
  const expected = ifMatch === undefined ? undefined : found
  const result = await context.store.organizations.remove(found.id, revocationTimes(context), expected)
  if (result === 'missing') throwNotFound('organization')
  if (result === 'outdated') throw preconditionFailed(entityTagOf(await readOrganization(context, caller)))
}

const maxListed = 500

/** Lists the active organizations that a user is a member of. */
export async function listUserOrganizations(
  { store }: AdminContext,
  userId: string,
): Promise<Static<typeof membershipSchema>[]> {
  const memberships = await store.memberships.listByUser(userId, maxListed)
  return memberships.map(({ organization, roles }) => {
    return { organization_id: organization.id, name: organization.name, roles: [...roles] }
  })
}
