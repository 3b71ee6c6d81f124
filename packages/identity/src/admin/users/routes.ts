import { type Http, holdsMergePatch } from '@gatehouse/kit'
import { Type } from 'typebox'
import { UserDeclaration, UserPatch } from '../../config/declarations.ts'
import { longestPassword, minPasswordLengthBounds } from '../../passwords/rule.ts'
import { maskUser, shown } from '../masking.ts'
import { byId, doc, type Gate, pageOf, pageQuery } from '../required-scope.ts'
import { newUserAnswer, pageAnswer, userAnswer } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { changeUser, createUser, listUsers, readUserRecord, removeUser, setPassword } from './users.ts'

const scope = adminScopes.users
const path = '/admin/v1/users'

/** Users: make, read, change, lock, delete; a password. */
export function userRoutes(http: Http, gate: Gate): void {
  readingRoutes(http, gate)
  changingRoutes(http, gate)
  passwordRoute(http, gate)
}

function readingRoutes(http: Http, { parts, check }: Gate): void {
  http.get(
    path,
    { schema: { ...doc('users.list', readScopes.accounts, pageAnswer(userAnswer)), querystring: pageQuery } },
    async (request) => {
      const by = await check(request, readScopes.accounts)
      const { after = '', limit = 50 } = request.query
      const users = await listUsers(parts, after, limit)
      return pageOf(
        users.map((user) => shown(by, user, maskUser)),
        limit,
        (user) => user.id,
      )
    },
  )
  http.get(
    `${path}/:id`,
    { schema: { ...doc('users.get', readScopes.accounts, userAnswer), params: byId } },
    async (request) => {
      const by = await check(request, readScopes.accounts)
      return shown(by, await readUserRecord(parts, request.params.id), maskUser)
    },
  )
}

function changingRoutes(http: Http, { parts, check }: Gate): void {
  http.post(
    path,
    { schema: { ...doc('users.create', scope, newUserAnswer, 201), body: UserDeclaration } },
    async (request, reply) => {
      const by = await check(request, scope)
      const made = await createUser(parts, by, request.body)
      return reply.code(201).send(shown(by, made, maskUser))
    },
  )
  const change = { ...doc('users.update', scope, userAnswer), params: byId, body: UserPatch }
  http.patch(`${path}/:id`, { schema: change }, async (request) => {
    const by = await check(request, scope)
    const patch = { ...request.body, mergesClaims: holdsMergePatch(request) }
    return shown(by, await changeUser(parts, by, request.params.id, patch), maskUser)
  })
  http.delete(`${path}/:id`, { schema: { ...doc('users.delete', scope), params: byId } }, async (request, reply) => {
    const by = await check(request, scope)
    await removeUser(parts, by, request.params.id)
    return reply.code(204).send()
  })
}

function passwordRoute(http: Http, { parts, check }: Gate): void {
  const body = Type.Object(
    { password: Type.String({ minLength: minPasswordLengthBounds[0], maxLength: longestPassword }) },
    { additionalProperties: false },
  )
  const password = { ...doc('users.setPassword', scope), params: byId, body }
  http.put(`${path}/:id/password`, { schema: password }, async (request, reply) => {
    const by = await check(request, scope)
    await setPassword(parts, by, request.params.id, request.body.password)
    return reply.code(204).send()
  })
}
