import { IfMatchHeaders, PageQuery, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { Locale } from '../../model/locale.ts'
import { describeOperation } from '../../request/route-options.ts'
import { NoContent, UserId } from '../../request/schemas.ts'

const TemplateId = Type.String({ minLength: 1, maxLength: 200, description: 'The template.' })

/** The parameters of `/v1/templates/{template_id}`. */
export const TemplateParams = Type.Object({ template_id: TemplateId })

/** The parameters of `/v1/templates/{template_id}/{channel}/{locale}`. */
export const TextParams = Type.Object({
  template_id: TemplateId,
  channel: Type.Enum([...channels], { description: 'The channel of the text.' }),
  locale: Locale,
})

/** The body that stores a text. */
export const TextSettings = Type.Object(
  {
    subject: Type.Optional(
      Type.String({ maxLength: 2_000, description: 'Liquid; of an email, a push or an in-app message' }),
    ),
    body: Type.String({ maxLength: 65_536, description: 'Liquid' }),
    html: Type.Optional(
      Type.String({ maxLength: 65_536, description: 'Liquid; the HTML of an email, beside its text' }),
    ),
    publish: Type.Optional(Type.Boolean({ default: true, description: 'Whether this version is used at once' })),
  },
  { title: 'TemplateTextSettings', additionalProperties: false },
)

const Text = Type.Object(
  {
    template_id: Type.String(),
    channel: Type.String(),
    locale: Type.String(),
    version: Type.Integer(),
    subject: Type.Optional(Type.String()),
    body: Type.String(),
    html: Type.Optional(Type.String()),
    published: Type.Boolean(),
    variables: Type.Optional(Type.Array(Type.String())),
  },
  { title: 'TemplateText' },
)

const sample = {
  channel: Type.Enum([...channels]),
  locale: Type.Optional(Type.String({ maxLength: 100, description: 'Looked up as for a user of that locale' })),
  data: Type.Object({}, { additionalProperties: true, description: 'Sample data' }),
}

const draft = {
  subject: Type.Optional(Type.String({ maxLength: 2_000 })),
  body: Type.Optional(Type.String({ maxLength: 65_536, description: 'A draft, in place of the published text' })),
  html: Type.Optional(Type.String({ maxLength: 65_536 })),
}

const Preview = Type.Object({
  locale: Type.String(),
  subject: Type.Optional(Type.String()),
  body: Type.String(),
  html: Type.Optional(Type.String()),
  variables: Type.Array(Type.String()),
  missing: Type.Array(Type.String()),
  sms: Type.Optional(
    Type.Object(
      { encoding: Type.String(), segments: Type.Integer() },
      { description: 'Of the text as it is sent: with short links where clicks are tracked.' },
    ),
  ),
})

/** The body of POST …/publish. */
export const Version = Type.Object({ version: Type.Integer({ minimum: 1 }) }, { additionalProperties: false })

/** The body of POST …/preview. */
export const PreviewRequest = Type.Object({ ...sample, ...draft }, { additionalProperties: false })

/** The body of POST …/test. */
export const TestRequest = Type.Object({ ...sample, user_id: UserId }, { additionalProperties: false })

const list = { 200: pageSchema(Text) }

/** GET /v1/templates */
export const listTemplates = describeOperation('templates.list', { querystring: PageQuery, response: list })

/** GET /v1/templates/{template_id} */
export const listVersions = describeOperation('templates.versions.list', {
  params: TemplateParams,
  querystring: PageQuery,
  response: list,
})

/** GET /v1/templates/{template_id}/{channel}/{locale} */
export const getText = describeOperation('templates.texts.get', { params: TextParams, response: { 200: Text } })

/** PUT /v1/templates/{template_id}/{channel}/{locale} */
export const updateText = describeOperation('templates.update', {
  params: TextParams,
  headers: IfMatchHeaders,
  body: TextSettings,
  response: { 200: Text },
})

/** DELETE /v1/templates/{template_id}/{channel}/{locale} */
export const withdrawText = describeOperation('templates.delete', { params: TextParams, response: { 204: NoContent } })

/** POST /v1/templates/{template_id}/{channel}/{locale}/publish */
export const publishText = describeOperation('templates.publish', {
  params: TextParams,
  headers: IfMatchHeaders,
  body: Version,
  response: { 200: Type.Object({ version: Type.Integer() }) },
})

/** POST /v1/templates/{template_id}/preview */
export const previewTemplate = describeOperation('templates.preview', {
  params: TemplateParams,
  body: PreviewRequest,
  response: { 200: Preview },
})

/** POST /v1/templates/{template_id}/test */
export const testTemplate = describeOperation('templates.test', {
  params: TemplateParams,
  body: TestRequest,
  response: { 200: Type.Object({ results: Type.Array(Type.Object({}, { additionalProperties: true })) }) },
})
