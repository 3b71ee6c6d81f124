import type { createFixtures } from './administrators.ts'
import type { Action } from './management-actions.ts'

/*
 * The management routes of organizations, for the table of all management routes.
 */

type Fixtures = ReturnType<typeof createFixtures>

const path = '/admin/v1/organizations'
const one = `${path}/:organization_id`
const templates = '/admin/v1/organization-roles'
const permissions = '/admin/v1/organization-permissions'
const readers = ['gatehouse-owner', 'gatehouse-operator', 'gatehouse-support', 'gatehouse-auditor'] as const
const administrators = ['gatehouse-owner', 'gatehouse-operator'] as const

/** A read of what is in an organization. */
function reading(rest: string): Action {
  return {
    route: `GET ${one}${rest}`,
    allowed: readers,
    prepare: async ({ organization }) => ({ url: `${path}/${await organization()}${rest}` }),
  }
}

/** A read of something in an organization, which `prepare` makes before. */
function readingOne(route: string, prepare: (id: string, fixtures: Fixtures) => Promise<string>): Action {
  return {
    route: `GET ${one}${route}`,
    allowed: readers,
    async prepare(fixtures) {
      const id = await fixtures.organization()
      return { url: `${path}/${id}${await prepare(id, fixtures)}` }
    },
  }
}

/** A change in an organization, which `prepare` may prepare by calls before. */
function changing(
  route: string,
  recorded: string,
  prepare: (id: string, fixtures: Fixtures) => Promise<{ readonly rest: string; readonly payload?: object }>,
): Action {
  return {
    route: route.replace(' ', ` ${one}`),
    allowed: administrators,
    recorded,
    async prepare(fixtures) {
      const id = await fixtures.organization()
      const { rest, ...request } = await prepare(id, fixtures)
      return { url: `${path}/${id}${rest}`, ...request }
    },
  }
}

/** Every management route of organizations. */
export const organizationActions: readonly Action[] = [
  { route: `GET ${path}`, allowed: readers, prepare: async () => ({ url: path }) },
  {
    route: `POST ${path}`,
    allowed: administrators,
    prepare: async ({ name }) => ({ url: path, payload: { id: name('new') } }),
    recorded: 'organizations.create',
  },
  reading(''),
  changing('PATCH ', 'organizations.update', async () => ({ rest: '', payload: { require_mfa: true } })),
  changing('DELETE ', 'organizations.delete', async () => ({ rest: '' })),
  {
    route: 'GET /admin/v1/users/:id/organizations',
    allowed: readers,
    prepare: async ({ user }) => ({ url: `/admin/v1/users/${await user()}/organizations` }),
  },
  { route: `GET ${templates}`, allowed: readers, prepare: async () => ({ url: templates }) },
  {
    route: `GET ${templates}/:role`,
    allowed: readers,
    prepare: async ({ template }) => ({ url: `${templates}/${await template()}` }),
  },
  {
    route: `PUT ${templates}/:role`,
    allowed: administrators,
    prepare: async ({ name }) => ({ url: `${templates}/${name('role')}`, payload: { permissions: ['read:orders'] } }),
    recorded: 'organization_templates.put',
  },
  {
    route: `DELETE ${templates}/:role`,
    allowed: administrators,
    prepare: async ({ template }) => ({ url: `${templates}/${await template()}` }),
    recorded: 'organization_templates.delete',
  },
  { route: `GET ${permissions}`, allowed: readers, prepare: async () => ({ url: permissions }) },
  {
    route: `DELETE ${permissions}/:permission`,
    allowed: administrators,
    async prepare({ name, manage }) {
      const permission = name('read:permission')
      const role = `${templates}/${name('role')}`
      await manage('PUT', role, { permissions: [permission] })
      await manage('DELETE', role)
      return { url: `${permissions}/${permission}` }
    },
    recorded: 'organization_template_permissions.release',
  },
  reading('/members'),
  readingOne('/members/:user_id', async (id, { user, manage }) => {
    const rest = `/members/${await user()}`
    await manage('PUT', `${path}/${id}${rest}`, { roles: [] })
    return rest
  }),
  changing('PUT /members/:user_id', 'organization_members.add', async (_id, { user }) => ({
    rest: `/members/${await user()}`,
    payload: { roles: ['owner'] },
  })),
  changing('DELETE /members/:user_id', 'organization_members.remove', async (id, { user, manage }) => {
    const rest = `/members/${await user()}`
    await manage('PUT', `${path}/${id}${rest}`, { roles: [] })
    return { rest }
  }),
  reading('/roles'),
  readingOne('/roles/:role', async () => '/roles/owner'),
  changing('PUT /roles/:role', 'organization_roles.put', async (_id, { name }) => ({
    rest: `/roles/${name('role')}`,
    payload: { permissions: [] },
  })),
  changing('DELETE /roles/:role', 'organization_roles.delete', async (id, { manage, name }) => {
    const rest = `/roles/${name('role')}`
    await manage('PUT', `${path}/${id}${rest}`, { permissions: [] })
    return { rest }
  }),
  reading('/permissions'),
  changing('DELETE /permissions/:permission', 'organization_permissions.release', async (id, { manage, name }) => {
    const permission = name('read:permission')
    const role = `${path}/${id}/roles/${name('role')}`
    await manage('PUT', role, { permissions: [permission] })
    await manage('DELETE', role)
    return { rest: `/permissions/${permission}` }
  }),
  reading('/invitations'),
  changing('POST /invitations', 'organization_invitations.create', async (_id, { name }) => ({
    rest: '/invitations',
    payload: { email: `${name('guest')}@people.example` },
  })),
  changing('DELETE /invitations/:invitation_id', 'organization_invitations.revoke', async (id, { manage, name }) => {
    const payload = { email: `${name('guest')}@people.example` }
    const made = await manage('POST', `${path}/${id}/invitations`, payload)
    return { rest: `/invitations/${made.body.id}` }
  }),
  reading('/domains'),
  changing('PUT /domains/:domain', 'organization_domains.add', async (_id, { name }) => ({
    rest: `/domains/${name('domain')}.example`,
  })),
  changing('POST /domains/:domain/verify', 'organization_domains.verify', async (id, { manage, name, publish }) => {
    const rest = `/domains/${name('domain')}.example`
    publish((await manage('PUT', `${path}/${id}${rest}`)).body.record)
    return { rest: `${rest}/verify` }
  }),
  changing('DELETE /domains/:domain', 'organization_domains.remove', async (id, { manage, name }) => {
    const rest = `/domains/${name('domain')}.example`
    await manage('PUT', `${path}/${id}${rest}`)
    return { rest }
  }),
]
