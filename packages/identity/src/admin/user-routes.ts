import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { UserDeclaration, UserPatch } from '../declarations.ts'
import { longestPassword, minPasswordLengthBounds } from '../password-rule.ts'
import { newUserAnswer, pageAnswer, userAnswer } from './answers.ts'
import { byId, doc, type Gate, pageOf, pageQuery } from './gate.ts'
import { adminScopes } from './scopes.ts'
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
    { schema: { ...doc('List users', scope, pageAnswer(userAnswer)), querystring: pageQuery } },
    async (request) => {
      await check(request, scope)
      const { after = '', limit = 50 } = request.query
      return pageOf(await listUsers(parts, after, limit), limit, (user) => user.id)
    },
  )
  http.get(`${path}/:id`, { schema: { ...doc('Read a user', scope, userAnswer), params: byId } }, async (request) => {
    await check(request, scope)
    return readUserRecord(parts, request.params.id)
  })
}

function changingRoutes(http: Http, { parts, check, changed }: Gate): void {
  http.post(
    path,
    { schema: { ...doc('Make a user', scope, newUserAnswer, 201), body: UserDeclaration } },
    async (request, reply) => {
      const caller = await check(request, scope)
      const made = await createUser(parts, request.body)
      await changed(request, caller, 'user created', { subject: made.id })
      return reply.code(201).send(made)
    },
  )
  const change = { ...doc('Change, lock or unlock a user', scope, userAnswer), params: byId, body: UserPatch }
  http.patch(`${path}/:id`, { schema: change }, async (request) => {
    const caller = await check(request, scope)
    const user = await changeUser(parts, request.params.id, request.body)
    const { locked } = request.body
    const action = locked === undefined ? 'user changed' : locked ? 'user locked' : 'user unlocked'
    await changed(request, caller, action, { subject: user.id })
    return user
  })
  http.delete(`${path}/:id`, { schema: { ...doc('Delete a user', scope), params: byId } }, async (request, reply) => {
    const caller = await check(request, scope)
    await removeUser(parts, request.params.id)
    await changed(request, caller, 'user deleted', { subject: request.params.id })
    return reply.code(204).send()
  })
}

function passwordRoute(http: Http, { parts, check, changed }: Gate): void {
  const body = Type.Object(
    { password: Type.String({ minLength: minPasswordLengthBounds[0], maxLength: longestPassword }) },
    { additionalProperties: false },
  )
  const password = { ...doc('Set a password', scope), params: byId, body }
  http.put(`${path}/:id/password`, { schema: password }, async (request, reply) => {
    const caller = await check(request, scope)
    await setPassword(parts, request.params.id, request.body.password)
    await changed(request, caller, 'password set', { subject: request.params.id })
    return reply.code(204).send()
  })
}
