import { type Http, IfMatchHeaders, isMergePatch } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { UserDeclaration, UserPatch } from '../../config/declarations.ts'
import type { AdminContext } from '../../context/features.ts'
import { maxPasswordLength, minPasswordLengthBounds } from '../../passwords/rule.ts'
import { maskUnlessPermitted, maskUser } from '../masking.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { newUserSchema, userSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { formatLastSignIn } from './last-sign-in.ts'
import { setPassword } from './passwords.ts'
import { createUser, deleteUser, readTaggedUser, updateUser } from './users.ts'

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
    `${path}/:id`,
    { schema: { ...describeRoute('users.get', readScopes.accounts, userSchema), params: byId } },
    async (request, reply) => {
      const by = await requireScope(request, readScopes.accounts)
      const { id } = request.params
      const { user, etag } = await readTaggedUser(context, id)
      const signedIn = formatLastSignIn((await context.store.userDirectory.findLastSignIns([id])).get(id))
      return reply.header('etag', etag).send(maskUnlessPermitted(by, { ...user, ...signedIn }, maskUser))
    },
  )
}

/** Whether claims have another phone number than the user has, or say otherwise whether it is verified. */
async function givesPhone(
  { store }: AdminContext,
  id: string,
  claims: Readonly<Record<string, unknown>> | undefined,
): Promise<boolean> {
  if (claims === undefined) return false
  const stored: Readonly<Record<string, unknown>> = (await store.users.find(id))?.claims ?? {}
  const names = ['phone_number', 'phone_number_verified']
  return names.some((name) => claims[name] !== undefined && claims[name] !== null && claims[name] !== stored[name])
}

function changingRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  http.post(
    path,
    { schema: { ...describeRoute('users.create', scope, newUserSchema, 201), body: UserDeclaration } },
    async (request, reply) => {
      // An account with a known password is a way in that outlasts the session of whoever made it.
      const by = await requireRecentSignIn(request, scope)
      const made = await createUser(context, by, request.body)
      return reply.code(201).send(maskUnlessPermitted(by, made, maskUser))
    },
  )
  const change = {
    ...describeRoute('users.update', scope, userSchema),
    params: byId,
    headers: IfMatchHeaders,
    body: UserPatch,
  }
  const admit = (request: FastifyRequest, isGranting: boolean) =>
    isGranting ? requireRecentSignIn(request, scope) : requireScope(request, scope)
  http.patch(`${path}/:id`, { schema: change }, async (request, reply) => {
    // Whoever reads the mails or the text messages of an account gets into it, and whoever was locked out.
    const { roles, email, email_verified: verified, locked, claims } = request.body
    const known = await admit(
      request,
      locked === false || [roles, email, verified].some((member) => member !== undefined),
    )
    const by = (await givesPhone(context, request.params.id, claims)) ? await admit(request, true) : known
    const update = { mergesClaims: isMergePatch(request), ifMatch: request.headers['if-match'] }
    await updateUser(context, by, request.params.id, { ...request.body, ...update })
    const { user, etag } = await readTaggedUser(context, request.params.id)
    return reply.header('etag', etag).send(maskUnlessPermitted(by, user, maskUser))
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

function passwordRoute(http: Http, { context, requireRecentSignIn }: AdminAccess): void {
  const body = Type.Object(
    { password: Type.String({ minLength: minPasswordLengthBounds[0], maxLength: maxPasswordLength }) },
    { additionalProperties: false },
  )
  const password = { ...describeRoute('users.setPassword', scope), params: byId, body }
  http.put(`${path}/:id/password`, { schema: password }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    await setPassword(context, by, request.params.id, request.body.password)
    return reply.code(204).send()
  })
}
