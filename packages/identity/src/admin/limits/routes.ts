import {
  createPage,
  defaultPageSize,
  entityTagOf,
  type Http,
  PageQuery,
  pageMembers,
  pageSchema,
  selectPage,
} from '@gatehouse/kit'
import { type TSchema, Type } from 'typebox'
import type { LimitRules } from '../../config/limit-rules.ts'
import { type LimitDeclaration, type LimitKind, limitKinds } from '../../model/limit-settings.ts'
import type { Authority } from '../authority.ts'
import { maskUnlessPermitted, refuseGuesses } from '../masking.ts'
import { type AdminAccess, describeRoute } from '../required-scope.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { formatPosition, listTierCallers, parsePosition } from './callers.ts'
import { listGateways, readFeed, recordGateway } from './feed.ts'
import {
  type LimitedCaller,
  listOverrides,
  maskOverride,
  pageKeys,
  putOverride,
  readOverride,
  removeOverride,
} from './overrides.ts'
import * as schemas from './schemas.ts'
import {
  activateVersion,
  changeDeclaration,
  checkDeclaration,
  findVersion,
  formatVersion,
  type LimitContext,
  readDeclaration,
  readSettings,
  versionTag,
} from './settings.ts'

const path = '/admin/v1/limit-settings'
const overridePath = '/admin/v1/limit-overrides/:kind/:id'
const [reading, editing] = [readScopes.limits, adminScopes.limits]
/** Of the processes that apply limits. */
const following = 'follow:limits'

/** Tiers, policies and overrides: read, edit, activate an earlier version; and what gateways follow. */
export function limitRoutes(http: Http, access: AdminAccess, rules: LimitRules): void {
  const limits = { context: access.context, rules }
  const shapes = schemas.limitSchemas(rules)
  settingsRoutes(http, access, limits, shapes)
  for (const kind of limitKinds) declarationRoutes(http, access, limits, { kind, shapes })
  tierCallerRoutes(http, access, limits)
  versionRoutes(http, access, limits, shapes)
  overrideRoutes(http, access, limits)
  feedRoutes(http, access, shapes)
}

type Shapes = ReturnType<typeof schemas.limitSchemas>

function settingsRoutes(http: Http, { requireScope }: AdminAccess, limits: LimitContext, shapes: Shapes): void {
  http.get(path, { schema: describeRoute('limitSettings.get', reading, shapes.settings) }, async (request, reply) => {
    await requireScope(request, reading)
    const settings = await readSettings(limits)
    return reply.header('etag', versionTag(settings.version)).send(settings)
  })
  const live = describeRoute('limitSettings.gateways.list', reading, pageSchema(schemas.gatewaySchema))
  http.get(`${path}/gateways`, { schema: { ...live, querystring: PageQuery } }, async (request) => {
    await requireScope(request, reading)
    return selectPage(await listGateways(limits.context), request.query, ({ host, id }) => `${host} ${id}`)
  })
  const body = Type.Object(
    {
      kind: Type.Unsafe<LimitKind>({ type: 'string', enum: [...limitKinds] }),
      name: schemas.limitName,
      declaration: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    },
    { additionalProperties: false },
  )
  const answer = Type.Object({
    valid: Type.Boolean(),
    fault: Type.Optional(Type.String({ description: 'What is not allowed, and what was expected.' })),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ description: 'The member at fault, such as `/declaration/rpm`.' }),
          detail: Type.String({ description: 'What is expected of it.' }),
        }),
        { maxItems: 1 },
      ),
    ),
  })
  const check = { ...describeRoute('limitSettings.validate', reading, answer), body }
  http.post(`${path}/validate`, { schema: check }, async (request) => {
    await requireScope(request, reading)
    const { declaration, ...at } = request.body
    const fault = await checkDeclaration(limits, at, declaration)
    return fault === undefined ? { valid: true } : { valid: false, ...fault }
  })
}

interface DeclarationRoutes {
  readonly kind: LimitKind
  readonly shapes: Shapes
}

function declarationRoutes(http: Http, access: AdminAccess, limits: LimitContext, { kind, shapes }: DeclarationRoutes) {
  const { requireScope, requireRecentSignIn } = access
  const params = Type.Object({ name: schemas.limitName })
  const one = `${path}/${kind}/:name`
  const answer = shapes.declared[kind]
  const read = { ...describeRoute(`limitSettings.${kind}.get`, reading, answer), params }
  http.get(one, { schema: read }, async (request, reply) => {
    await requireScope(request, reading)
    const found = await readDeclaration(limits, { kind, name: request.params.name })
    return reply.header('etag', found.etag).send(found)
  })
  const headers = schemas.changeHeaders
  const change: { params: typeof params; headers: typeof headers; body: TSchema } = {
    ...describeRoute(`limitSettings.${kind}.put`, editing, answer),
    params,
    headers,
    body: shapes.change[kind],
  }
  http.put(one, { schema: change }, async (request, reply) => {
    const by = await requireRecentSignIn(request, editing)
    const { name } = request.params
    const body = request.body as { declaration: LimitDeclaration; comment?: string }
    const ifMatch = request.headers['if-match']
    const { version } = await changeDeclaration(limits, by, { kind, name }, { ...body, ifMatch })
    const etag = entityTagOf(body.declaration)
    return reply.header('etag', etag).send({ name, version, declaration: body.declaration, etag })
  })
  const query = Type.Object({ comment: schemas.comment }, { additionalProperties: false })
  const remove = { ...describeRoute(`limitSettings.${kind}.delete`, editing), params, headers, querystring: query }
  http.delete(one, { schema: remove }, async (request, reply) => {
    const by = await requireRecentSignIn(request, editing)
    const ifMatch = request.headers['if-match']
    const { comment } = request.query
    await changeDeclaration(
      limits,
      by,
      { kind, name: request.params.name },
      { declaration: undefined, comment, ifMatch },
    )
    return reply.code(204).send()
  })
}

/** Who is on a tier. */
function tierCallerRoutes(http: Http, { requireScope }: AdminAccess, limits: LimitContext): void {
  const cursor = Type.String({ maxLength: 600, description: 'The `next` of the previous page.' })
  const list = {
    ...describeRoute('limitSettings.tierCallers.list', readScopes.accounts, pageSchema(schemas.tierCallerSchema)),
    params: Type.Object({ name: schemas.limitName }),
    querystring: Type.Object(pageMembers(cursor), { additionalProperties: false }),
  }
  http.get(`${path}/tiers/:name/callers`, { schema: list }, async (request) => {
    await requireScope(request, readScopes.accounts)
    const { name } = request.params
    await readDeclaration(limits, { kind: 'tiers', name })
    const { cursor: after = '', limit = defaultPageSize } = request.query
    const found = await listTierCallers(limits, name, parsePosition(after), limit)
    return createPage(found, request.query, formatPosition)
  })
}

function versionRoutes(http: Http, access: AdminAccess, limits: LimitContext, shapes: Shapes): void {
  const { requireScope, requireRecentSignIn } = access
  const cursor = Type.String({ pattern: '^\\d{1,9}$', description: 'The `next` of the previous page.' })
  const querystring = Type.Object(pageMembers(cursor), { additionalProperties: false })
  const list = describeRoute('limitSettings.versions.list', reading, pageSchema(schemas.versionSchema))
  http.get(`${path}/versions`, { schema: { ...list, querystring } }, async (request) => {
    await requireScope(request, reading)
    const { cursor: before, limit = defaultPageSize } = request.query
    const found = await limits.context.store.limitVersions.list(
      before === undefined ? undefined : Number(before),
      limit,
    )
    return createPage(found.map(formatVersion), request.query, ({ version }) => String(version))
  })
  const params = Type.Object({
    version: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: 'The version.' }),
  })
  const read = { ...describeRoute('limitSettings.versions.get', reading, shapes.version), params }
  http.get(`${path}/versions/:version`, { schema: read }, async (request) => {
    await requireScope(request, reading)
    const found = await findVersion(limits, request.params.version)
    return { ...formatVersion(found), ...found.document }
  })
  const activate = {
    ...describeRoute('limitSettings.versions.activate', editing, schemas.versionSchema),
    params,
    headers: schemas.changeHeaders,
    body: Type.Object({ comment: schemas.comment }, { additionalProperties: false }),
  }
  http.post(`${path}/versions/:version/activate`, { schema: activate }, async (request, reply) => {
    const by = await requireRecentSignIn(request, editing)
    const change = { ...request.body, ifMatch: request.headers['if-match'] }
    const made = await activateVersion(limits, by, request.params.version, change)
    return reply.header('etag', versionTag(made.version)).send(formatVersion(made))
  })
}

function overrideRoutes(http: Http, { requireScope, requireRecentSignIn }: AdminAccess, limits: LimitContext): void {
  const params = schemas.overrideParams
  const list = describeRoute('limitOverrides.list', reading, pageSchema(schemas.overrideSchema))
  const policy = Type.Optional(Type.String({ maxLength: 64, description: 'Only those with this tier or policy.' }))
  const querystring = Type.Object({ ...PageQuery.properties, policy }, { additionalProperties: false })
  http.get('/admin/v1/limit-overrides', { schema: { ...list, querystring } }, async (request) => {
    const by = await requireScope(request, reading)
    const { policy: named } = request.query
    const found = (await listOverrides(limits)).filter((one) => named === undefined || one.policy === named)
    const keys = pageKeys(found)
    const page = selectPage(found, request.query, (override) => keys.get(override) ?? '', 'descending')
    return { ...page, items: page.items.map((one) => maskUnlessPermitted(by, one, maskOverride)) }
  })
  const read = { ...describeRoute('limitOverrides.get', reading, schemas.overrideSchema), params }
  http.get(overridePath, { schema: read }, async (request, reply) => {
    const by = await requireScope(request, reading)
    refuseAddress(by, request.params)
    const found = await readOverride(limits, request.params)
    return reply.header('etag', entityTagOf(found)).send(maskUnlessPermitted(by, found, maskOverride))
  })
  const put = {
    ...describeRoute('limitOverrides.put', editing, schemas.overrideSchema),
    params,
    body: schemas.OverrideBody,
  }
  http.put(overridePath, { schema: put }, async (request) => {
    const by = await requireRecentSignIn(request, editing)
    return putOverride(limits, by, request.params, request.body)
  })
  const remove = { ...describeRoute('limitOverrides.delete', editing), params }
  http.delete(overridePath, { schema: remove }, async (request, reply) => {
    const by = await requireRecentSignIn(request, editing)
    refuseAddress(by, request.params)
    await removeOverride(limits, by, request.params)
    return reply.code(204).send()
  })
}

/** Whether an address has an override is masked for the caller, whatever they do with it. @throws Problem 403 */
function refuseAddress(by: Authority, { kind, id }: LimitedCaller): void {
  if (kind === 'ip') refuseGuesses(by, 'address', id)
}

/** For processes alone: what they apply, and what they report. */
function feedRoutes(http: Http, { context, requireScope }: AdminAccess, shapes: Shapes): void {
  const headers = Type.Object({
    'if-none-match': Type.Optional(
      Type.String({ maxLength: 256, description: 'The `ETag` that was read last: if nothing changed since, 304.' }),
    ),
  })
  const feed = { ...describeRoute('limitSettings.feed', following, shapes.feed), headers }
  http.get(`${path}/feed`, { schema: feed }, async (request, reply) => {
    await requireScope(request, following)
    const found = await readFeed(context, request.headers['if-none-match'])
    if (found === undefined) return reply.code(304).send()
    return reply.header('etag', found.etag).send(found)
  })
  const params = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64, description: 'The process.' }) })
  const report = { ...describeRoute('limitSettings.gateways.report', following), params, body: schemas.GatewayReport }
  http.put(`${path}/gateways/:id`, { schema: report }, async (request, reply) => {
    const { actor } = await requireScope(request, following)
    const reporter = actor.clientId ?? actor.subject
    await recordGateway(context, { id: request.params.id, ...request.body }, reporter)
    return reply.code(204).send()
  })
}
