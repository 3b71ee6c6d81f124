import type { Purposes } from '@gatehouse/kit'

/** The operations of organizations, by management and by their members. */
export const organizationOperations = {
  'organizations.list': ['List organizations', 'Ordered by id.'],
  'organizations.create': ['Create an organization', 'Without members; add the first one, with the role owner.'],
  'organizations.get': ['Get an organization', 'Its name, its status and whether its members need a second factor.'],
  'organizations.update': [
    'Update, suspend or resume an organization',
    'Omitted members stay unchanged. Suspending ends every grant in it.',
  ],
  'organizations.delete': [
    'Delete an organization',
    'With its roles, members and invitations. Every grant in it ends.',
  ],
  'memberships.list': ['List the organizations of a user', 'The active ones, with the roles of the user in each.'],
  'organizationTemplates.list': ['List the role templates', 'The roles that every organization has.'],
  'organizationTemplates.put': [
    'Create or replace a role template',
    'The change reaches all organizations: members have the new permissions from their next tokens on.',
  ],
  'organizationTemplates.delete': ['Delete a role template', 'Members of all organizations lose the role.'],
  'organizationMembers.list': ['List the members of an organization', 'Ordered by user id.'],
  'organizationMembers.put': [
    'Add a member to an organization, or replace the roles',
    'Without effect if the member has exactly these roles. The last owner stays one.',
  ],
  'organizationMembers.remove': [
    'Remove a member from an organization',
    'The tokens of the member for the organization end at once. The last owner stays.',
  ],
  'organizationRoles.list': ['List the roles of an organization', 'The templates and its own, with their permissions.'],
  'organizationRoles.put': ['Create or replace a role of an organization', 'Its key must not be that of a template.'],
  'organizationRoles.delete': ['Delete a role of an organization', 'Members and invitations lose the role at once.'],
  'organizationInvitations.list': [
    'List the invitations of an organization',
    'Those that wait, ordered by id. Their links are in the mails only.',
  ],
  'organizationInvitations.create': [
    'Invite a person to an organization',
    'Mails a link, which works for a user who verified the address. The response is the same without an account.',
  ],
  'organizationInvitations.revoke': [
    'Revoke an invitation to an organization',
    'The link in the mail becomes invalid.',
  ],
  'organizationDomains.list': ['List the domains of an organization', 'Each with the DNS record that proves it.'],
  'organizationDomains.add': [
    'Add a domain to an organization',
    'The response has the DNS record to publish. A domain that is there stays as it is.',
  ],
  'organizationDomains.verify': ['Verify a domain of an organization', 'Looks for the DNS record.'],
  'organizationDomains.remove': ['Remove a domain from an organization', 'Another organization can verify it then.'],
  'ownOrganization.get': ['Get your organization', 'The organization that the token is for.'],
  'ownOrganization.update': ['Update your organization', 'Omitted members stay unchanged.'],
  'ownMembers.list': ['List the members of your organization', 'Ordered by user id.'],
  'ownMembers.put': [
    'Replace the roles of a member of your organization',
    'Requires every permission of the roles that change. The last owner stays one.',
  ],
  'ownMembers.remove': [
    'Remove a member from your organization',
    'The tokens of the member for the organization end at once. The last owner stays.',
  ],
  'ownRoles.list': ['List the roles of your organization', 'The templates and its own, with their permissions.'],
  'ownRoles.put': [
    'Create or replace a role of your organization',
    'Requires every permission that it has or gets. Its key must not be that of a template.',
  ],
  'ownRoles.delete': ['Delete a role of your organization', 'Members and invitations lose the role at once.'],
  'ownInvitations.list': [
    'List the invitations of your organization',
    'Those that wait, ordered by id. Their links are in the mails only.',
  ],
  'ownInvitations.create': [
    'Invite a person to your organization',
    'Mails a link, which works for a user who verified the address. The response is the same without an account.',
  ],
  'ownInvitations.revoke': ['Revoke an invitation to your organization', 'The link in the mail becomes invalid.'],
  'ownDomains.list': ['List the domains of your organization', 'Each with the DNS record that proves it.'],
  'ownDomains.add': [
    'Add a domain to your organization',
    'The response has the DNS record to publish. A domain that is there stays as it is.',
  ],
  'ownDomains.verify': ['Verify a domain of your organization', 'Looks for the DNS record.'],
  'ownDomains.remove': ['Remove a domain from your organization', 'Another organization can verify it then.'],
} as const satisfies Purposes
