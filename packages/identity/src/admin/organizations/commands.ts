import type { NewOrganization } from '../../config/organizations.ts'
import type { AdminContext } from '../../context/features.ts'
import { commandLine } from '../authority.ts'
import type { OrganizationCaller } from './caller.ts'
import { createInvitation, type InvitationResponse } from './invitations.ts'
import { listOrganizationMembers, type OrganizationMemberResponse, putMember, removeMember } from './members.ts'
import { createOrganization, listOrganizations, type OrganizationResponse, readOrganization } from './organizations.ts'

/** Organizations for the command line, which has the power of management. They throw the `Problem` of the API. */
export interface OrganizationCommands {
  listOrganizations(after: string, limit: number): Promise<OrganizationResponse[]>
  readOrganization(id: string): Promise<OrganizationResponse>
  createOrganization(declaration: NewOrganization): Promise<OrganizationResponse>
  listOrganizationMembers(id: string, after: string, limit: number): Promise<OrganizationMemberResponse[]>
  /** Adds a member, or replaces the roles of one. */
  putMember(id: string, userId: string, roles: readonly string[]): Promise<void>
  removeMember(id: string, userId: string): Promise<void>
  createInvitation(
    id: string,
    invitation: { readonly email: string; readonly roles?: readonly string[] },
  ): Promise<InvitationResponse>
}

/** Binds the operations to a context. */
export function createOrganizationCommands(context: AdminContext): OrganizationCommands {
  const caller = (organizationId: string): OrganizationCaller => ({
    by: commandLine,
    organizationId,
    member: undefined,
  })
  return {
    listOrganizations: (after, limit) => listOrganizations(context, after, limit),
    readOrganization: (id) => readOrganization(context, caller(id)),
    createOrganization: (declaration) => createOrganization(context, commandLine, declaration),
    listOrganizationMembers: (id, after, limit) => listOrganizationMembers(context, caller(id), after, limit),
    putMember: (id, userId, roles) => putMember(context, caller(id), userId, { roles }),
    removeMember: (id, userId) => removeMember(context, caller(id), userId),
    createInvitation: (id, invitation) => createInvitation(context, caller(id), invitation),
  }
}
