import { type Static, Type } from 'typebox'
import { maxMemberRoles, organizationStatuses } from '../model/organization.ts'

const strict = { additionalProperties: false } as const

/** The id of an organization, and the claim org_id. */
export const organizationId = Type.String({
  pattern: '^(?!\\.{1,2}$)[A-Za-z0-9._~:@-]{1,128}$',
  description: 'The identifier of the organization: the claim org_id. 1 to 128 letters, digits and . _ ~ : @ -',
  examples: ['acme'],
})

/** The key of a role in an organization, as the claim org_roles has it. */
export const roleKey = Type.String({
  pattern: '^[a-z0-9][a-z0-9._:-]{0,63}$',
  description: 'The key of the role, in the claim org_roles. 1 to 64 lower-case letters, digits and . _ : -',
  examples: ['editor'],
})

/** Text without control characters that is not blank: spaces, a character that is none, then anything. */
const visibleText = '^[^\\S\\x00-\\x1f]*[^\\s\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$'

const name = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: visibleText,
    description,
    examples: [example],
  })

const maxPermissions = 100

const roleMembers = {
  name: Type.Optional(name('The name that people read. Default: the key.', 'Editor')),
  permissions: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    maxItems: maxPermissions,
    uniqueItems: true,
    description:
      'The scopes that members with the role have in their organization. A scope that a role names is granted to nobody without it, and stays so until it is released, also when no role names it any more.',
    examples: [['read:invoices', 'write:invoices']],
  }),
}

/** The definition of a role. */
export const OrganizationRolePatch = Type.Object(roleMembers, strict)
/** A valid {@link OrganizationRolePatch}. */
export type OrganizationRolePatch = Static<typeof OrganizationRolePatch>

/** A role of all organizations, in the configuration file. */
export const OrganizationRoleDeclaration = Type.Object(
  { key: roleKey, ...roleMembers },
  { ...strict, description: 'A role that every organization has.' },
)
/** A valid {@link OrganizationRoleDeclaration}. */
export type OrganizationRoleDeclaration = Static<typeof OrganizationRoleDeclaration>

const organizationMembers = {
  name: name('The name that people read. Default: the id.', 'Acme Ltd'),
  status: Type.Unsafe<(typeof organizationStatuses)[number]>({
    type: 'string',
    enum: [...organizationStatuses],
    description: 'Nobody acts in a suspended organization. Default: active.',
  }),
  require_mfa: Type.Boolean({ description: 'Whether its members sign in with a second factor. Default: false.' }),
}

/** What may be changed of an organization. */
export const OrganizationPatch = Type.Partial(Type.Object(organizationMembers, strict))
/** A valid {@link OrganizationPatch}. */
export type OrganizationPatch = Static<typeof OrganizationPatch>

/** An organization in the management API. */
export const NewOrganization = Type.Object(
  { id: Type.Optional(organizationId), ...OrganizationPatch.properties },
  { ...strict, description: 'Without an id one is generated.' },
)
/** A valid {@link NewOrganization}. */
export type NewOrganization = Static<typeof NewOrganization>

const roles = Type.Array(roleKey, {
  maxItems: maxMemberRoles,
  uniqueItems: true,
  description: 'The keys of roles of this organization, or of templates.',
})

/** The roles of a member in the management API. */
export const MemberBody = Type.Object({ roles }, strict)
/** An invitation in the management API. */
export const InvitationBody = Type.Object(
  { email: Type.String({ format: 'email', maxLength: 254 }), roles: Type.Optional(roles) },
  strict,
)

/** An organization in the configuration file. */
export const OrganizationDeclaration = Type.Object(
  {
    id: organizationId,
    ...OrganizationPatch.properties,
    members: Type.Optional(
      Type.Array(
        Type.Object(
          {
            user_id: Type.String({ minLength: 1, maxLength: 128, description: 'The id of a user.' }),
            roles: Type.Array(roleKey, { maxItems: maxMemberRoles, uniqueItems: true, examples: [['owner']] }),
          },
          strict,
        ),
        { maxItems: 1000, description: 'Users who become members, or whose roles are replaced. Others stay members.' },
      ),
    ),
  },
  { ...strict, description: 'A customer whose members sign in for it.' },
)
/** A valid {@link OrganizationDeclaration}. */
export type OrganizationDeclaration = Static<typeof OrganizationDeclaration>
