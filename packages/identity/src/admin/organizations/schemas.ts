import { Type } from 'typebox'
import {
  InvitationBody,
  MemberBody,
  OrganizationPatch,
  OrganizationRolePatch,
  organizationId,
  roleKey,
} from '../../config/organizations.ts'
import { idParameter } from '../required-scope.ts'

/* The schemas of requests and responses about organizations. */

const text = Type.String()
const instant = Type.String({ format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] })
const strict = { additionalProperties: false } as const
const description = 'The organization.'

/** The path parameters of an organization, and of what is in one. */
export const ofOrganization = Type.Object({ organization_id: idParameter(description) })
export const ofMember = Type.Object({ ...ofOrganization.properties, user_id: idParameter('The user.') })
export const ofRole = Type.Object({ ...ofOrganization.properties, role: roleKey })
export const ofTemplate = Type.Object({ role: roleKey })
export const ofTemplatePermission = Type.Object({
  permission: Type.String({ minLength: 1, maxLength: 128, description: 'The permission: the name of a scope.' }),
})
export const ofPermission = Type.Object({ ...ofOrganization.properties, ...ofTemplatePermission.properties })
export const ofInvitation = Type.Object({
  ...ofOrganization.properties,
  invitation_id: Type.String({ format: 'uuid', description: 'The invitation.' }),
})
export const ofDomain = Type.Object({
  ...ofOrganization.properties,
  domain: Type.String({ minLength: 3, maxLength: 253, description: 'A domain, such as example.com.' }),
})

/** The members of an organization that a request changes. */
export const organizationBody = OrganizationPatch
/** What members may change of their own organization. */
export const ownOrganizationBody = Type.Omit(OrganizationPatch, ['status'], strict)
/** The definition of a role. */
export const roleBody = OrganizationRolePatch
/** The roles of a member. */
export const memberBody = MemberBody
/** An invitation. */
export const invitationBody = InvitationBody

/** An organization. */
export const organizationSchema = Type.Object(
  {
    id: organizationId,
    name: text,
    status: text,
    require_mfa: Type.Boolean(),
    created_at: instant,
    updated_at: instant,
  },
  { title: 'Organization' },
)
/** A member of an organization. */
export const organizationMemberSchema = Type.Object(
  { user_id: text, username: text, email: Type.Optional(text), roles: Type.Array(text), created_at: instant },
  { title: 'OrganizationMember' },
)
/** A membership of a user. */
export const membershipSchema = Type.Object(
  { organization_id: text, name: text, roles: Type.Array(text) },
  { title: 'Membership' },
)
/** A role of an organization, or a template. */
export const organizationRoleSchema = Type.Object(
  {
    key: text,
    name: text,
    permissions: Type.Array(text),
    template: Type.Boolean({ description: 'Whether all organizations have it.' }),
  },
  { title: 'OrganizationRole' },
)
/** A permission that a role has, or had and that was not released since. */
export const protectedPermissionSchema = Type.Object(
  {
    permission: text,
    roles: Type.Array(text, { description: 'The roles that have it. Without one it can be released.' }),
  },
  { title: 'ProtectedPermission' },
)
/** An invitation. Its link is in the mail only. */
export const invitationSchema = Type.Object(
  {
    id: text,
    email: text,
    roles: Type.Array(text),
    invited_by: Type.Optional(Type.String({ description: 'The member who invited; absent for management.' })),
    created_at: instant,
    expires_at: instant,
  },
  { title: 'Invitation' },
)
/** A domain of an organization, with the DNS record that proves it. */
export const domainSchema = Type.Object(
  {
    domain: text,
    record: Type.Object({ name: text, type: text, value: text }),
    created_at: instant,
    verified_at: Type.Optional(instant),
  },
  { title: 'OrganizationDomain' },
)
