import type { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { isEmailAddress } from '../text/email-address.ts'
import { isInstant } from '../text/instant.ts'

/** Adds the formats that schemas of ours use: the standard ones, with our own rules for instants and mail addresses. */
export function addFormats(ajv: Ajv): Ajv {
  return formats.default(ajv).addFormat('date-time', isInstant).addFormat('email', isEmailAddress)
}
