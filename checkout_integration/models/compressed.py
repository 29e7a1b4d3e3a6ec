"""Compression of notifications, to a quarter of their size."""

from __future__ import annotations

import zlib
from typing import Final

LEVEL: Final = 2  # a higher one saves little, and is paid for in the request
PLAIN, COMPRESSED = b"\x00", b"\x01"
NAMES: Final = (
    b'"reason":"","code":"","wallet":{"brand":"","account":""},"zip":"","handler":"","platform":"","url":"https://'
    b'"refunded":true,"canceled":true,"live":false,"user.validate","payment.cancel","payment.chargeback","payment.refund",'
    b'"status":"canceled","status":"rejected","status":"chargeback","status":"refunded","type":"virtual_currency",'
    b'"type":"simple","type":"key","type":"product","vat_payer":"seller","vat_payer":"buyer","brand":"MASTERCARD",'
    b'{"id":"","type":"notification","event":"payment.success","live":true,"created_at":"","expires_at":"","delivery_try":0,'
    b'"object":{"id":"","transaction":"","object":"order","status":"processed","description":"","created_at":"",'
    b'"canceled":false,"canceled_at":"","cancellation":null,"refunded":false,"refunded_at":"","receipt_email":"",'
    b'"receipt_phone":"","receipt_number":"","receipt_url":"https://","receipt_id":"","agreement_version":"1.0",'
    b'"agreement_accepted":true,"notify_sale":false,"notify_sale_email":"","issuer":{"url":"https://","embedded":false,'
    b'"reference":"","reference_type":"","utm_source":"","utm_medium":"","utm_campaign":"","referrer_host":""},'
    b'"amount":0,"currency":"EUR","user":{"id":"","object":"user","external_id":"","name":"","email":"",'
    b'"email_verified":true,"phone":"+","phone_verified":false,"ip":"","locale":"en-US","address":{"country":"","city":"",'
    b'"postal_code":"","state":""},"metadata":{},"notify_new_region":false,"notify_new_region_email":""},'
    b'"billing_address":{"country":""},"tax":{"type":"VAT","rate":0,"amount":0,"currency":"USD"},'
    b'"net_revenue":{"amount":0,"currency":"USD"},"fee":{"amount":0,"currency":"USD"},'
    b'"method":{"title":"","external_id":"","payment_system_id":"","type":"bank_card","saved":false,"card":{"first6":"",'
    b'"last4":"","masked":"******","expiry_month":"","expiry_year":"20","brand":"VISA","fingerprint":"","secure3d":true},'
    b'"wallet":null,"crypto_currency":null,"refund_allowed":true,"recurring_allowed":false},'
    b'"items":[{"id":"","sku":"","name":"","description":"","images":["https://"],"metadata":{}}],"refund":null,'
    b'"metadata":{},"original_amount":0,"country":"","type":"product","platform_id":"","virtual_currency_amount":0,'
    b'"is_buy_for_virtual_currency":false,"charge_currency":"USD","charge_amount":0,"vat_payer":"nobody",'
    b'"is_production":true,"testing_case":"","form_mode":"embed","merchant_info":{"company_name":"","agreement_number":""},'
    b'"recurring":false,"recurring_id":""}}'
)
"""What the service's documents have in common: half of each of them. What is stored cannot be read without it, so it never
changes; a better one gets another first byte.
"""


class DamagedBytes(ValueError):
    """The column's bytes were not written by this app; the message repeats none of them."""


def packed(content: bytes) -> bytes:
    """Return the bytes to store: compressed if that is shorter; the first byte says which."""
    compressor = zlib.compressobj(LEVEL, zdict=NAMES)
    compressed = compressor.compress(content) + compressor.flush()
    return COMPRESSED + compressed if len(compressed) < len(content) else PLAIN + content


def unpacked(stored: bytes) -> bytes:
    """Return the original bytes of a result of `packed`. Raises `DamagedBytes` for other bytes."""
    kind, content = stored[:1], stored[1:]
    if kind == PLAIN:
        return content
    decompressor = zlib.decompressobj(zdict=NAMES)
    try:
        whole = decompressor.decompress(content) if kind == COMPRESSED else b""
    except zlib.error:
        raise DamagedBytes("Compressed bytes are damaged.") from None
    if not decompressor.eof or decompressor.unused_data:
        raise DamagedBytes("Compressed bytes are damaged.")
    return whole
