import { InvitationBody, MemberBody, NewOrganization } from '@gatehouse/identity'
import { validateInput } from './checked.ts'
import { type Commands, maxListed } from './command.ts'
import { first, list, names, second, text } from './typed.ts'

/** What is done about organizations and their members. */
export const organizationCommands: Commands = {
  'organization list': {
    usage: '',
    summary: 'the organizations',
    run: (management) => management.listOrganizations('', maxListed),
  },
  'organization show': {
    usage: '<id>',
    summary: 'one organization, with its members and their roles',
    async run(management, { args }) {
      const id = first(args)
      const members = await management.listOrganizationMembers(id, '', maxListed)
      return { ...(await management.readOrganization(id)), members }
    },
  },
  'organization add': {
    usage: '<id> [--name NAME] [--require-mfa]',
    summary: 'create an organization, without members',
    run: (management, { args, options }) => {
      const requireMfa = options['require-mfa'] === true ? { require_mfa: true } : {}
      const members = { id: first(args), ...text('name', options.name), ...requireMfa }
      return management.createOrganization(validateInput(NewOrganization, members))
    },
  },
  'organization invite': {
    usage: '<id> <email> [--roles A,B]',
    summary: 'mail an invitation to an address; an earlier one of the address becomes invalid',
    run: (management, { args, options }) => {
      const members = { email: second(args), ...list('roles', options.roles) }
      return management.createInvitation(first(args), validateInput(InvitationBody, members))
    },
  },
  'member add': {
    usage: '<organization> <user> [--roles A,B]',
    summary: 'add a user to an organization, or replace the roles of a member; the user is notified',
    run: (management, { args, options }) => {
      const { roles } = validateInput(MemberBody, { roles: names(options.roles) ?? [] })
      return management.putMember(first(args), second(args), roles)
    },
  },
  'member remove': {
    usage: '<organization> <user>',
    summary: 'end a membership and its tokens; the user is notified, and the last owner stays',
    run: (management, { args }) => management.removeMember(first(args), second(args)),
  },
}
