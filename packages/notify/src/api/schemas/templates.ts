import { IfMatchHeaders, pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { Locale } from '../../model/locale.ts'
import { describeOperation } from '../../request/route-options.ts'
import { NoContent, UserId } from '../../request/schemas.ts'
import { draftMembers, PreviewRequest, Previews, SampleData } from './template-preview.ts'

const TemplateId = Type.String({ minLength: 1, maxLength: 200, description: 'The template.' })

/** The parameters of `/v1/templates/{template_id}`. */
export const TemplateParams = Type.Object({ template_id: TemplateId })

/** The parameters of `/v1/templates/{template_id}/{channel}/{locale}`. */
export const TextParams = Type.Object({
  template_id: TemplateId,
  channel: Type.Enum([...channels], { description: 'The channel of the text.' }),
  locale: Locale,
})

/** The parameters of one version of a text. */
export const VersionParams = Type.Object({
  ...TextParams.properties,
  version: Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'The number of the version.' }),
})

const place = {
  channel: Type.Optional(Type.Enum([...channels], { description: 'Only texts of this channel.' })),
  locale: Type.Optional(Locale),
}

/** The query of GET /v1/templates. */
export const TemplatesQuery = Type.Object(
  {
    q: Type.Optional(Type.String({ maxLength: 200, description: 'A part of the name of the template.' })),
    ...place,
    summary: Type.Optional(
      Type.Boolean({ description: 'Every text, published or not, without its words.', default: false }),
    ),
    ...pageMembers(),
  },
  { additionalProperties: false },
)

/** The query of GET /v1/templates/{template_id}. */
export const VersionsQuery = Type.Object(
  {
    ...place,
    summary: Type.Optional(Type.Boolean({ description: 'Versions without their words.', default: false })),
    ...pageMembers(),
  },
  { additionalProperties: false },
)

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
    comment: Type.Optional(Type.String({ maxLength: 500, description: 'What was changed, and why' })),
    publish: Type.Optional(Type.Boolean({ default: true, description: 'Whether this version is used at once' })),
  },
  { title: 'TemplateTextSettings', additionalProperties: false },
)

const authorship = {
  created_at: Type.Optional(Type.String({ description: 'When this version was stored; none for a reserved text' })),
  created_by: Type.Optional(Type.String({ description: 'Who stored it; none for a text of the configuration' })),
  comment: Type.Optional(Type.String()),
  reserved: Type.Optional(Type.Boolean({ description: 'True where the configuration alone changes the template' })),
}

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
    ...authorship,
  },
  { title: 'TemplateText' },
)

/** A text, or a version of one, whose words may be left out. */
export const TextSummaryRecord = Type.Object(
  {
    template_id: Type.String(),
    channel: Type.String(),
    locale: Type.String(),
    version: Type.Integer(),
    latest: Type.Optional(Type.Integer({ description: 'The highest version of the text, in a summary' })),
    subject: Type.Optional(Type.String()),
    body: Type.Optional(Type.String({ description: 'Left out in a summary' })),
    html: Type.Optional(Type.String()),
    published: Type.Boolean(),
    ...authorship,
  },
  { title: 'TemplateTextSummary' },
)

const Sample = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100 }),
    data: Type.Object({}, { additionalProperties: true, maxProperties: 200, description: 'As in an event' }),
  },
  { title: 'TemplateSample', additionalProperties: false },
)

/** The body of PUT …/samples. */
export const SampleSettings = Type.Object(
  { items: Type.Array(Sample, { maxItems: 20, description: 'All samples of the template. Invent their data.' }) },
  { additionalProperties: false },
)

/** The body of POST …/publish. */
export const Version = Type.Object({ version: Type.Integer({ minimum: 1 }) }, { additionalProperties: false })

/** The body of POST …/test. */
export const TestRequest = Type.Object(
  {
    channel: Type.Enum([...channels]),
    locale: Type.Optional(Type.String({ maxLength: 100, description: 'Looked up as for a user of that locale' })),
    data: SampleData,
    user_id: UserId,
    draft: Type.Optional(
      Type.Object(draftMembers, {
        additionalProperties: false,
        description: 'A draft, in place of the published text',
      }),
    ),
  },
  { additionalProperties: false },
)

/** GET /v1/templates */
export const listTemplates = describeOperation('templates.list', {
  querystring: TemplatesQuery,
  response: {
    200: Type.Object({
      ...pageSchema(TextSummaryRecord).properties,
      default_locale: Type.String({ description: 'The locale of users whose own is unknown' }),
    }),
  },
})

/** GET /v1/templates/{template_id} */
export const listVersions = describeOperation('templates.versions.list', {
  params: TemplateParams,
  querystring: VersionsQuery,
  response: { 200: pageSchema(TextSummaryRecord) },
})

/** GET /v1/templates/{template_id}/{channel}/{locale}/{version} */
export const getVersion = describeOperation('templates.versions.get', {
  params: VersionParams,
  response: { 200: Text },
})

/** GET /v1/templates/{template_id}/samples */
export const getSamples = describeOperation('templates.samples.get', {
  params: TemplateParams,
  response: { 200: SampleSettings },
})

/** PUT /v1/templates/{template_id}/samples */
export const updateSamples = describeOperation('templates.samples.update', {
  params: TemplateParams,
  headers: IfMatchHeaders,
  body: SampleSettings,
  response: { 200: SampleSettings },
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
  response: { 200: Previews },
})

/** POST /v1/templates/{template_id}/test */
export const testTemplate = describeOperation('templates.test', {
  params: TemplateParams,
  body: TestRequest,
  response: { 200: Type.Object({ results: Type.Array(Type.Object({}, { additionalProperties: true })) }) },
})
