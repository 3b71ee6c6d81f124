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
  'users.organizations.list': [
    'List the organizations of a user',
    'The active ones, with the roles of the user in each.',
  ],
  'organizations.roleTemplates.list': ['List the role templates', 'The roles that every organization has.'],
  'organizations.roleTemplates.get': ['Get a role template', 'With its permissions.'],
  'organizations.roleTemplates.put': [
    'Create or replace a role template',
    'The change reaches all organizations: members have the new permissions from their next tokens on.',
  ],
  'organizations.roleTemplates.delete': [
    'Delete a role template',
    'Members of all organizations lose the role. Its permissions still need a role, until they are released.',
  ],
  'organizations.templatePermissions.list': [
    'List the permissions of role templates',
    'Those that a template has, or had and that were not released since: nobody gets them without a role.',
  ],
  'organizations.templatePermissions.release': [
    'Release a permission of role templates',
    'The scope needs no role from then on: clients get it for every user. 409 while a template has it.',
  ],
  'organizations.members.list': ['List the members of an organization', 'Ordered by user id.'],
  'organizations.members.get': ['Get a member of an organization', 'With the roles in it.'],
  'organizations.members.put': [
    'Add a member to an organization, or replace the roles',
    'Without effect if the member has exactly these roles. The last owner stays one.',
  ],
  'organizations.members.remove': [
    'Remove a member from an organization',
    'The tokens of the member for the organization end at once. The last owner stays.',
  ],
  'organizations.roles.list': [
    'List the roles of an organization',
    'The templates and its own, with their permissions.',
  ],
  'organizations.roles.get': ['Get a role of an organization', 'A template, or one of its own.'],
  'organizations.roles.put': ['Create or replace a role of an organization', 'Its key must not be that of a template.'],
  'organizations.roles.delete': [
    'Delete a role of an organization',
    'Members and invitations lose the role at once. Its permissions still need a role, until they are released.',
  ],
  'organizations.permissions.list': [
    'List the permissions of the roles of an organization',
    'Those that a role of its own has, or had and that were not released since: no member gets them without a role.',
  ],
  'organizations.permissions.release': [
    'Release a permission of the roles of an organization',
    'The scope needs no role from then on, unless it is one of the templates. 409 while a role of its own has it.',
  ],
  'organizations.invitations.list': [
    'List the invitations of an organization',
    'Those that wait, newest first. Their links are in the mails only.',
  ],
  'organizations.invitations.create': [
    'Invite a person to an organization',
    'Mails a link, which works for a user who verified the address. The response is the same without an account.',
  ],
  'organizations.invitations.revoke': [
    'Revoke an invitation to an organization',
    'The link in the mail becomes invalid.',
  ],
  'organizations.domains.list': ['List the domains of an organization', 'Each with the DNS record that proves it.'],
  'organizations.domains.add': [
    'Add a domain to an organization',
    'The response has the DNS record to publish. A domain that is there stays as it is.',
  ],
  'organizations.domains.verify': ['Verify a domain of an organization', 'Looks for the DNS record.'],
  'organizations.domains.remove': ['Remove a domain from an organization', 'Another organization can verify it then.'],
  'ownOrganization.get': ['Get your organization', 'The organization that the token is for.'],
  'ownOrganization.update': ['Update your organization', 'Omitted members stay unchanged.'],
  'ownOrganization.members.list': ['List the members of your organization', 'Ordered by user id.'],
  'ownOrganization.members.get': ['Get a member of your organization', 'With the roles in it.'],
  'ownOrganization.members.put': [
    'Replace the roles of a member of your organization',
    'Requires every permission of the roles that change. The last owner stays one.',
  ],
  'ownOrganization.members.remove': [
    'Remove a member from your organization',
    'The tokens of the member for the organization end at once. The last owner stays.',
  ],
  'ownOrganization.roles.list': [
    'List the roles of your organization',
    'The templates and its own, with their permissions.',
  ],
  'ownOrganization.roles.get': ['Get a role of your organization', 'A template, or one of its own.'],
  'ownOrganization.roles.put': [
    'Create or replace a role of your organization',
    'Requires every permission that it has or gets. Its key must not be that of a template.',
  ],
  'ownOrganization.roles.delete': [
    'Delete a role of your organization',
    'Members and invitations lose the role at once. Its permissions still need a role, until they are released.',
  ],
  'ownOrganization.permissions.list': [
    'List the permissions of the roles of your organization',
    'Those that a role of its own has, or had and that were not released since: no member gets them without a role.',
  ],
  'ownOrganization.permissions.release': [
    'Release a permission of the roles of your organization',
    'Requires it. The scope needs no role from then on, unless it is one of the templates. 409 while a role of its own has it.',
  ],
  'ownOrganization.invitations.list': [
    'List the invitations of your organization',
    'Those that wait, newest first. Their links are in the mails only.',
  ],
  'ownOrganization.invitations.create': [
    'Invite a person to your organization',
    'Mails a link, which works for a user who verified the address. The response is the same without an account.',
  ],
  'ownOrganization.invitations.revoke': [
    'Revoke an invitation to your organization',
    'The link in the mail becomes invalid.',
  ],
  'ownOrganization.domains.list': ['List the domains of your organization', 'Each with the DNS record that proves it.'],
  'ownOrganization.domains.add': [
    'Add a domain to your organization',
    'The response has the DNS record to publish. A domain that is there stays as it is.',
  ],
  'ownOrganization.domains.verify': ['Verify a domain of your organization', 'Looks for the DNS record.'],
  'ownOrganization.domains.remove': [
    'Remove a domain from your organization',
    'Another organization can verify it then.',
  ],
} as const satisfies Purposes
