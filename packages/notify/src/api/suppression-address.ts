import { emailAddressExpected, isEmailAddress, Problem } from '@gatehouse/kit'
import { phoneNumberPattern } from '../catalog/declaration.ts'
import { all } from '../model/delivery/suppression.ts'

const phoneNumber = new RegExp(phoneNumberPattern)

/** @throws Problem 400 for an address that no message of its channel could go to: it is compared as it is written */
export function refuseAddress(channel: string, address: string): void {
  if (address === all) return
  const faults: Readonly<Record<string, string | false>> = {
    email: !isEmailAddress(address) && emailAddressExpected,
    sms: !phoneNumber.test(address) && 'must be a telephone number such as +14155550100',
  }
  const expected = faults[channel]
  if (!expected) return
  const detail = `${expected}, or ${all} for any of the user's`
  throw new Problem(400, `The body is not valid: /address ${detail}.`, { errors: [{ pointer: '/address', detail }] })
}
