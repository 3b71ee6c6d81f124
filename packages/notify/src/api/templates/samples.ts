import { type Clock, entityTagOf, maskMembers, preconditionFailed, requireMatch } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Reserved } from '../../catalog/reserved.ts'
import type { Audit } from '../../context/audit.ts'
import type { AccessControl } from '../../request/caller.ts'
import { changedMeanwhile, refuseTags } from '../../request/withheld-tags.ts'
import type { TemplateSample, TemplateSamples } from '../../store/store.ts'
import type * as schemas from '../schemas/templates.ts'

/** What the endpoints of sample data need. */
export interface SampleContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly reserved: Reserved
  readonly samples: TemplateSamples
  readonly clock: Clock
}

type Params = Static<typeof schemas.TemplateParams>

/** GET /v1/templates/{template_id}/samples: types in place of the values, for callers who may not read personal data. */
export function getSamples({ access, samples }: SampleContext) {
  return async (request: FastifyRequest<{ Params: Params }>, reply: FastifyReply) => {
    const found = await samples.find(request.params.template_id)
    const masked = access.masks(request)
    const items = found.map(({ name, data }) => ({ name, data: masked ? maskMembers(data) : data }))
    return withTag(reply, tagFor(masked, found)).send({ items })
  }
}

/** PUT /v1/templates/{template_id}/samples: replaces all of them. The audit trail has their names alone. */
export function updateSamples({ access, audit, reserved, samples, clock }: SampleContext) {
  return async (
    request: FastifyRequest<{ Params: Params; Body: Static<typeof schemas.SampleSettings> }>,
    reply: FastifyReply,
  ) => {
    const { params, body, headers } = request
    const { template_id: templateId } = params
    const sent = body.items as readonly TemplateSample[]
    const ifMatch = headers['if-match']
    reserved.refuseTemplate(templateId)
    const before = await samples.find(templateId)
    const masked = access.masks(request)
    if (masked) refuseTags(ifMatch)
    requireMatch(ifMatch, entityTagOf(before))
    await audit(request, {
      action: 'templates.samples',
      target: { type: 'template', id: templateId },
      before: { samples: namesOf(before) },
      after: { samples: namesOf(sent) },
    })
    const expected = ifMatch === undefined ? undefined : before
    if (!(await samples.put(templateId, sent, clock.now(), expected)))
      throw masked ? changedMeanwhile() : preconditionFailed(entityTagOf(await samples.find(templateId)))
    const items = sent.map(({ name, data }) => ({ name, data: masked ? maskMembers(data) : data }))
    return withTag(reply, tagFor(masked, sent)).send({ items })
  }
}

/** The entity tag of samples. Who sees them masked gets none: guesses of the data could be compared with its digest. */
function tagFor(masked: boolean, samples: readonly TemplateSample[]): string | undefined {
  return masked ? undefined : entityTagOf(samples)
}

function withTag(reply: FastifyReply, tag: string | undefined): FastifyReply {
  return tag === undefined ? reply : reply.header('etag', tag)
}

function namesOf(samples: readonly TemplateSample[]): string[] {
  return samples.map(({ name }) => name)
}
