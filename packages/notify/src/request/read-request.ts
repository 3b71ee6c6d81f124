import { type Fault, findTextFault, suggestionFor, validationFault } from '@gatehouse/kit'
import { Compile } from 'typebox/compile'
import { channels } from '../model/channel.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'
import { NotifyBody } from './notify-body.ts'

const body = Compile(NotifyBody)
const maxFaults = 20

/** A notify request that did not come through a route's own validation: the request, or every fault in it. */
export function readRequest(value: unknown): NotifyRequest | readonly Fault[] {
  // First, since the schema is looked into as deep as the value is nested, and the stack is not that deep.
  const fault = findTextFault(value)
  if (fault !== undefined) return [fault]
  if (body.Check(value)) return value as NotifyRequest
  if (hasTooManyChannels(value)) return [{ pointer: '/channels', detail: `must have at most ${channels.length} items` }]
  return body.Errors(value).flatMap(faultsOf).slice(0, maxFaults)
}

/** More than there are: to say of each which other ones it repeats takes time that grows with the square of their number. */
function hasTooManyChannels(value: unknown): boolean {
  const { channels: named } = (value ?? {}) as { readonly channels?: unknown }
  return Array.isArray(named) && named.length > channels.length
}

interface SchemaError {
  readonly keyword: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

/** In the words of a route's own validation. */
function faultsOf(error: SchemaError): Fault[] {
  const { keyword, instancePath, params } = error
  if (keyword === 'required' && 'requiredProperties' in params)
    return (params.requiredProperties as string[]).map((name) => ({
      pointer: `${instancePath}/${name}`,
      detail: 'is required',
    }))
  // told member by member, as the schema `false` of each
  if (keyword === 'additionalProperties') return []
  if (keyword === 'boolean') return [unknownMember(instancePath)]
  return [validationFault(error)]
}

/** Of a member of the request itself with the name that may be meant. */
function unknownMember(pointer: string): Fault {
  const suggestion = suggestionFor(pointer.slice(1), Object.keys(NotifyBody.properties))
  return { pointer, detail: `is not a known member${suggestion}` }
}

/** Faults in one line. */
export function formatFaults(faults: readonly Fault[]): string {
  return faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
}
