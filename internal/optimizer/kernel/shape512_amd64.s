#include "textflag.h"

// The loops of shape_amd64.s in words of eight numbers, of which the last may hold fewer: K2 says
// which are there. The steps are the same for each number. The
// constants are those of shape_amd64.go, by their place in its table.
#define LOG2E     0(DX)
#define LN2HIGH   32(DX)
#define LN2LOW    64(DX)
#define SMALLEST  96(DX)
#define FARTHEST  128(DX)
#define ONE       160(DX)
#define MINUSHALF 192(DX)
#define THREE     224(DX)
#define FIVE      256(DX)
#define THIRD     288(DX)
#define FACTORIAL13 320(DX)
#define TERM(k)   (320+32*k)(DX)

// EXP turns Z0 = x ≤ 0 into e^x, by the steps of exp in exp.go. It uses Z1 to Z3 and K1.
#define EXP \
	VBROADCASTSD      SMALLEST, Z1          \
	VCMPPD            $0x1d, Z1, Z0, K1     \
	VMULPD.BCST       LOG2E, Z0, Z1         \
	VRNDSCALEPD       $8, Z1, Z1            \
	VFNMADD231PD.BCST LN2HIGH, Z1, Z0       \
	VFNMADD231PD.BCST LN2LOW, Z1, Z0        \
	VBROADCASTSD      FACTORIAL13, Z2       \
	VFMADD213PD.BCST  TERM(1), Z0, Z2       \
	VFMADD213PD.BCST  TERM(2), Z0, Z2       \
	VFMADD213PD.BCST  TERM(3), Z0, Z2       \
	VFMADD213PD.BCST  TERM(4), Z0, Z2       \
	VFMADD213PD.BCST  TERM(5), Z0, Z2       \
	VFMADD213PD.BCST  TERM(6), Z0, Z2       \
	VFMADD213PD.BCST  TERM(7), Z0, Z2       \
	VFMADD213PD.BCST  TERM(8), Z0, Z2       \
	VFMADD213PD.BCST  TERM(9), Z0, Z2       \
	VFMADD213PD.BCST  TERM(10), Z0, Z2      \
	VFMADD213PD.BCST  TERM(11), Z0, Z2      \
	VFMADD213PD.BCST  ONE, Z0, Z2           \
	VFMADD213PD.BCST  ONE, Z0, Z2           \
	VCVTPD2DQ         Z1, Y3                \
	VPMOVSXDQ         Y3, Z3                \
	VPSLLQ            $52, Z3, Z3           \
	VPADDQ            Z3, Z2, Z2            \
	VMOVAPD.Z         Z2, K1, Z0

// ALL lets K2 say that there are eight.
#define ALL \
	MOVL  $0xff, AX \
	KMOVW AX, K2

// REST lets K2 say that there are CX, fewer than eight.
#define REST \
	MOVL  $1, AX \
	SHLL  CX, AX \
	DECL  AX     \
	KMOVW AX, K2

// BEGIN loads the arguments of a shape: SI the values, CX their number, Z15 the variance, Z14 zero.
#define BEGIN \
	MOVQ         values+0(FP), SI   \
	VBROADCASTSD variance+8(FP), Z15 \
	MOVQ         n+16(FP), CX       \
	LEAQ         ·constants(SB), DX \
	VPXORQ       Z14, Z14, Z14      \
	ALL

#define NEXT(again) \
	VMOVUPD Z0, K2, (SI) \
	ADDQ    $64, SI      \
	SUBQ    $8, CX       \
	JGT     again        \
	VZEROUPPER           \
	RET

// func squaredExponentialAVX512(values *float64, variance float64, n int)
TEXT ·squaredExponentialAVX512(SB), NOSPLIT, $0-24
	BEGIN

se:
	CMPQ CX, $8
	JGE  seall
	REST

seall:
	VMOVUPD.Z (SI), K2, Z0
	VMULPD.BCST MINUSHALF, Z0, Z0
	EXP
	VMULPD      Z15, Z0, Z0
	NEXT(se)

// func matern12AVX512(values *float64, variance float64, n int)
TEXT ·matern12AVX512(SB), NOSPLIT, $0-24
	BEGIN

half:
	CMPQ CX, $8
	JGE  halfall
	REST

halfall:
	VMOVUPD.Z (SI), K2, Z0
	VSQRTPD   Z0, Z0
	VSUBPD    Z0, Z14, Z0
	EXP
	VMULPD    Z15, Z0, Z0
	NEXT(half)

// func matern32AVX512(values *float64, variance float64, n int)
TEXT ·matern32AVX512(SB), NOSPLIT, $0-24
	BEGIN

threehalves:
	CMPQ CX, $8
	JGE  threehalvesall
	REST

threehalvesall:
	VMOVUPD.Z (SI), K2, Z0
	VMULPD.BCST THREE, Z0, Z5
	VSQRTPD     Z5, Z5        // s
	VSUBPD      Z5, Z14, Z0
	VADDPD.BCST ONE, Z5, Z5
	VMULPD      Z15, Z5, Z5
	EXP
	VMULPD      Z5, Z0, Z0
	NEXT(threehalves)

// func matern52AVX512(values *float64, variance float64, n int)
TEXT ·matern52AVX512(SB), NOSPLIT, $0-24
	BEGIN

fivehalves:
	CMPQ CX, $8
	JGE  fivehalvesall
	REST

fivehalvesall:
	VMOVUPD.Z (SI), K2, Z0
	VMULPD.BCST      FIVE, Z0, Z6 // s²
	VSQRTPD          Z6, Z5       // s
	VSUBPD           Z5, Z14, Z0
	VADDPD.BCST      ONE, Z5, Z5
	VFMADD231PD.BCST THIRD, Z6, Z5
	VMULPD           Z15, Z5, Z5
	EXP
	VMULPD           Z5, Z0, Z0
	NEXT(fivehalves)

// func squaredDistancesAVX512(dst, x, inverse, ys *float64, stride, p, n int)
TEXT ·squaredDistancesAVX512(SB), NOSPLIT, $0-56
	MOVQ         dst+0(FP), BX
	MOVQ         x+8(FP), SI
	MOVQ         inverse+16(FP), DI
	MOVQ         ys+24(FP), R8
	MOVQ         stride+32(FP), R13
	MOVQ         p+40(FP), R12
	MOVQ         n+48(FP), CX
	LEAQ         ·constants(SB), DX
	VBROADCASTSD FARTHEST, Z5
	SHLQ         $3, R13 // bytes between coordinates
	ALL

points:
	CMPQ CX, $8
	JGE  all
	REST

all:
	MOVQ   R8, R9
	VPXORQ Z0, Z0, Z0
	XORQ   AX, AX

coordinates:
	CMPQ         (DI)(AX*8), $0
	JEQ          next
	VBROADCASTSD (SI)(AX*8), Z3
	VMOVUPD.Z    (R9), K2, Z1
	VSUBPD       Z1, Z3, Z3
	VMULPD.BCST  (DI)(AX*8), Z3, Z3
	VFMADD231PD  Z3, Z3, Z0

next:
	ADDQ    R13, R9
	INCQ    AX
	CMPQ    AX, R12
	JLT     coordinates
	VMINPD  Z0, Z5, Z0
	VMOVUPD Z0, K2, (BX)
	ADDQ    $64, BX
	ADDQ    $64, R8
	SUBQ    $8, CX
	JGT     points
	VZEROUPPER
	RET
