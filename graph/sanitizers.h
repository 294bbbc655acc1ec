// For tests: whether this build runs under AddressSanitizer, which takes time and memory of its own.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define FUSESMITH_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUSESMITH_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef FUSESMITH_ADDRESS_SANITIZER
#define FUSESMITH_ADDRESS_SANITIZER 0
#endif
