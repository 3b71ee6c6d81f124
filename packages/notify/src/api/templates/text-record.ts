import type { Static } from 'typebox'
import type { Authorship, StoredText, TextSummary } from '../../store/store.ts'
import type { TextSummaryRecord } from '../schemas/templates.ts'

type Summary = Static<typeof TextSummaryRecord>

/** A version of a text as the API writes it. */
export function formatText(text: StoredText, isReserved: boolean) {
  const { templateId, channel, locale, version, subject, body, html, published } = text
  return {
    template_id: templateId,
    channel,
    locale,
    version,
    ...(subject === undefined ? {} : { subject }),
    body,
    ...(html === undefined ? {} : { html }),
    published,
    ...formatAuthorship(text, isReserved),
  }
}

/** The same without its words. */
export function withoutWords(text: ReturnType<typeof formatText>): Summary {
  const { subject: _subject, body: _body, html: _html, ...summary } = text
  return summary
}

/** A text without its words: the published version, or else the highest. */
export function formatSummary(text: TextSummary, isReserved: boolean): Summary {
  const { templateId, channel, locale, version, latest, published } = text
  return {
    template_id: templateId,
    channel,
    locale,
    version,
    latest,
    published: published !== undefined,
    ...formatAuthorship(text, isReserved),
  }
}

function formatAuthorship({ createdAt, createdBy, comment }: Authorship, isReserved: boolean) {
  return {
    ...(createdAt === undefined ? {} : { created_at: new Date(createdAt).toISOString() }),
    ...(createdBy === undefined ? {} : { created_by: createdBy }),
    ...(comment === undefined ? {} : { comment }),
    ...(isReserved ? { reserved: true } : {}),
  }
}
