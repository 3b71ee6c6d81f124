import { type Http, isMergePatch } from '@gatehouse/kit'
import { Type } from 'typebox'
import { UserDeclaration, UserPatch } from '../../config/declarations.ts'
import { maxPasswordLength, minPasswordLengthBounds } from '../../passwords/rule.ts'
import { maskUnlessPermitted, maskUser } from '../masking.ts'
import { type AdminAccess, byId, createPage, describeRoute, pageQuery } from '../required-scope.ts'
import { newUserSchema, pageSchema, userSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { createUser, deleteUser, listUsers, readUser, setPassword, updateUser } from './users.ts'

const scope = adminScopes.users
const path = '/admin/v1/users'

/** Users: create, read, update, lock, delete, set a password. */
export function userRoutes(http: Http, access: AdminAccess): void {
  readingRoutes(http, access)
  changingRoutes(http, access)
  passwordRoute(http, access)
}

function readingRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  http.get(
    path,
    { schema: { ...describeRoute('users.list', readScopes.accounts, pageSchema(userSchema)), querystring: pageQuery } },
    async (request) => {
      const by = await requireScope(request, readScopes.accounts)
      const { after = '', limit = 50 } = request.query
      const users = await listUsers(context, after, limit)
      return createPage(
        users.map((user) => maskUnlessPermitted(by, user, maskUser)),
        limit,
        (user) => user.id,
      )
    },
  )
  http.get(
    `${path}/:id`,
    { schema: { ...describeRoute('users.get', readScopes.accounts, userSchema), params: byId } },
    async (request) => {
      const by = await requireScope(request, readScopes.accounts)
      return maskUnlessPermitted(by, await readUser(context, request.params.id), maskUser)
    },
  )
}

function changingRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  http.post(
    path,
    { schema: { ...describeRoute('users.create', scope, newUserSchema, 201), body: UserDeclaration } },
    async (request, reply) => {
      const by = await requireScope(request, scope)
      const made = await createUser(context, by, request.body)
      return reply.code(201).send(maskUnlessPermitted(by, made, maskUser))
    },
  )
  const change = { ...describeRoute('users.update', scope, userSchema), params: byId, body: UserPatch }
  http.patch(`${path}/:id`, { schema: change }, async (request) => {
    const by = await requireScope(request, scope)
    const patch = { ...request.body, mergesClaims: isMergePatch(request) }
    return maskUnlessPermitted(by, await updateUser(context, by, request.params.id, patch), maskUser)
  })
  http.delete(
    `${path}/:id`,
    { schema: { ...describeRoute('users.delete', scope), params: byId } },
    async (request, reply) => {
      const by = await requireRecentSignIn(request, scope)
      await deleteUser(context, by, request.params.id)
      return reply.code(204).send()
    },
  )
}

function passwordRoute(http: Http, { context, requireScope }: AdminAccess): void {
  const body = Type.Object(
    { password: Type.String({ minLength: minPasswordLengthBounds[0], maxLength: maxPasswordLength }) },
    { additionalProperties: false },
  )
  const password = { ...describeRoute('users.setPassword', scope), params: byId, body }
  http.put(`${path}/:id/password`, { schema: password }, async (request, reply) => {
    const by = await requireScope(request, scope)
    await setPassword(context, by, request.params.id, request.body.password)
    return reply.code(204).send()
  })
}
