import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { Locale } from '../../model/locale.ts'

/** The data that a text is tried with. */
export const SampleData = Type.Object({}, { additionalProperties: true, description: 'Sample data' })

/** The members of a draft. */
export const draftMembers = {
  subject: Type.Optional(Type.String({ maxLength: 2_000 })),
  body: Type.Optional(Type.String({ maxLength: 65_536 })),
  html: Type.Optional(Type.String({ maxLength: 65_536 })),
}

/** The body of POST …/preview. */
export const PreviewRequest = Type.Object(
  {
    data: SampleData,
    channels: Type.Optional(
      Type.Array(Type.Enum([...channels]), {
        minItems: 1,
        uniqueItems: true,
        description: 'Default: those that the template has texts for, and that of the draft',
      }),
    ),
    locales: Type.Optional(
      Type.Array(Locale, {
        minItems: 1,
        maxItems: 8,
        uniqueItems: true,
        description: 'Looked up as for users of these. Default: that of the draft, or else of users without one',
      }),
    ),
    draft: Type.Optional(
      Type.Object(
        { channel: Type.Enum([...channels]), locale: Locale, ...draftMembers },
        { additionalProperties: false, description: 'Stands in the place of the text of its channel and locale' },
      ),
    ),
  },
  { additionalProperties: false },
)

const Fault = Type.Object(
  {
    part: Type.Optional(Type.Enum(['subject', 'body', 'html'])),
    line: Type.Optional(Type.Integer({ description: 'Of the part, from 1' })),
    column: Type.Optional(Type.Integer({ description: 'Of the line, from 1' })),
    message: Type.String(),
  },
  { title: 'TemplateFault', description: 'Without a part: there is no text, or it was not rendered' },
)

const Size = Type.Object({
  bytes: Type.Integer(),
  max_bytes: Type.Integer({ description: 'What the service accepts' }),
})

const Sms = Type.Object(
  {
    encoding: Type.String(),
    segments: Type.Integer(),
    units: Type.Integer({ description: 'Septets of GSM-7, or UTF-16 code units' }),
    units_per_segment: Type.Integer(),
    parts: Type.Array(Type.String(), { description: 'The text of each segment' }),
    outside_gsm: Type.Array(Type.String(), { description: 'The characters that force UCS-2' }),
  },
  { description: 'Of the text as it is sent: with short links where clicks are tracked' },
)

const Preview = Type.Object(
  {
    channel: Type.String(),
    requested_locale: Type.String(),
    locale: Type.Optional(Type.String({ description: 'That of the text' })),
    version: Type.Optional(Type.Integer({ description: 'None of a draft' })),
    subject: Type.Optional(Type.String()),
    body: Type.Optional(Type.String({ description: 'Left out where there are faults' })),
    html: Type.Optional(Type.String({ description: 'With footer and tracked links; their tokens are left out' })),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'Of a mail, besides those of its provider' }),
    ),
    variables: Type.Array(Type.String()),
    missing: Type.Array(Type.String(), { description: 'Variables that the data does not have' }),
    sms: Type.Optional(Sms),
    push: Type.Optional(
      Type.Object({ fcm: Size, apns: Size, web: Size }, { description: 'The size of the push with each service' }),
    ),
    faults: Type.Array(Fault, { description: 'The first one of each part' }),
  },
  { title: 'TemplatePreview' },
)

/** The response of POST …/preview. */
export const Previews = Type.Object({
  items: Type.Array(Preview),
  unused: Type.Array(Type.String(), { description: 'Members of the data that none of these texts names' }),
})
